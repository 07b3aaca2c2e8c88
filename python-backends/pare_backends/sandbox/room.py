"""How many programs may be judged at once: as many as the machine's memory holds should every guest
take all that it may. What one of them takes then decides no other's verdict."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pare_backends.machine import memory_bytes
from pare_backends.sandbox.guest_limits import Limits

GUESTS = 2
"""Of one judgement. A hostile one can hold half as much again as its address space, in tables of
pages; the checker, which holds no foreign code, leaves more than that of its own share."""


def available_bytes() -> int:
    return memory_bytes()[1]


class Room:
    """Lets judgements in while there is memory for one more; one alone always may."""

    def __init__(self, available: Callable[[], int] = available_bytes) -> None:
        self._available = available
        self._inside = 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, limits: Limits) -> Iterator[None]:
        """Waits for room, and holds it."""
        most = GUESTS * limits.memory_bytes
        with self._changed:
            # What those inside hold already is missing from what is available: fewer are let in
            # then, never more.
            self._changed.wait_for(
                lambda: self._inside == 0 or self._available() >= (self._inside + 1) * most
            )
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()


ROOM = Room()
"""Of this process."""
