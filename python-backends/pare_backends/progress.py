"""What a call tells while it works: progress, spans, alerts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Emit = Callable[[dict[str, Any]], None]

MOST_POINTS = 500
"""Steps whose points one event holds at most."""


@dataclass(frozen=True)
class Report:
    """Handed to every call's `run`. Thread-safe where `emit` is; the worker's is."""

    emit: Emit
    threads: int = 1
    """Threads that the call may compute with; torch is already set to it."""
    answered: Callable[[], object] = lambda: None
    """Returns when the client has answered; at once where none listens."""

    def progress(self, label: str, done: float, total: float | None, unit: str) -> None:
        """Says that `done` of `total` (None: not known) are done. A `done` that the label did not
        have just before proves life: a worker without any for long is taken for stalled and
        killed."""
        self.emit({"event": "progress", "label": label, "done": done, "total": total, "unit": unit})

    def waiting(self, seconds: float, why: str) -> None:
        """Says that the call waits for so long for somebody else, which is no stall. Who waits
        bounds the sum of it."""
        self.emit({"event": "waiting", "seconds": seconds, "why": why})

    def take_turn(self) -> None:
        """Waits until the client's other work rests: what follows is timed, to the call's end."""
        self.emit({"event": "turn"})
        self.answered()

    @contextmanager
    def span(self, name: str, library: bool = False) -> Iterator[None]:
        """Times the block, also when it raises. `library`: the time is spent in a library's own
        call, so it is not counted as pare's. Spans of one kind must not be nested."""
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.emit({"event": "span", "name": name, "seconds": seconds, "library": library})

    def points(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Says metrics at steps, to be kept with the trial: {"step", "happened_at" (milliseconds
        since 1970), "values" (by metric)} each."""
        for at in range(0, len(rows), MOST_POINTS):
            self.emit({"event": "points", "points": list(rows[at : at + MOST_POINTS])})

    def alert(self, condition: str, evidence: str) -> None:
        """Something the user should know, with the figure that shows it; never a failure."""
        self.emit({"event": "alert", "condition": condition, "evidence": evidence})


def silent_report(threads: int = 1) -> Report:
    """A report that says nothing: for tests and interactive use."""
    return Report(lambda event: None, threads)
