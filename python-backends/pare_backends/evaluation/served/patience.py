"""How long a server is waited for that is busy, broken or away."""

from __future__ import annotations

import email.utils
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

BUSY = (408, 425, 429, 503, 529)
"""It is there and says that it has no room now."""
BROKEN = (500, 502, 504, 520, 522, 524)


@dataclass(frozen=True)
class Patience:
    """A request is tried again until `seconds` after it first failed. Waits double from
    `first_wait` to `longest_wait`, or last as long as the server's Retry-After says. Seconds."""

    seconds: float = 600.0
    stranger_seconds: float = 20.0
    """The same for a server that has not given one answer yet and does not say that it is busy: its
    address may be wrong."""
    first_wait: float = 0.5
    longest_wait: float = 5.0


class Exhausted(Exception):
    """The patience is at its end; `asked`: the server asks for a wait that is longer."""

    def __init__(self, tries: int, spent: float, asked: float | None, patience: float) -> None:
        super().__init__()
        self.tries, self.spent, self.asked, self.patience = tries, spent, asked, patience


class Tries:
    """The tries of one request."""

    def __init__(self, patience: Patience, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience, self._clock = patience, clock
        self._began = clock()
        self._failed: float | None = None
        self.count = 0

    def next_wait(self, asked: float | None, stranger: bool, once: bool) -> float:
        """Seconds until the next try. Raises `Exhausted` where there is none.

        asked: by the server's Retry-After
        stranger: whether the server may not be one
        once: whether this failure is not to be tried again
        """
        now = self._clock()
        self.count += 1
        if self._failed is None:
            self._failed = now
        patience = self._patience
        whole = min(patience.stranger_seconds, patience.seconds) if stranger else patience.seconds
        left = 0.0 if once else self._failed + whole - now
        own = min(patience.first_wait * 2.0 ** min(self.count - 1, 30), patience.longest_wait)
        wait = max(own * random.uniform(1.0, 1.25), asked or 0.0)
        if left <= 0 or (asked or 0.0) > left:
            longer = asked if asked is not None and asked > whole and not once else None
            raise Exhausted(self.count, now - self._began, longer, whole)
        return min(wait, max(left, asked or 0.0))


def retry_after(text: str | None, now: Callable[[], float] = time.time) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or as a date; None: it says none."""
    if text is None:
        return None
    try:
        seconds = float(text)
        return None if math.isnan(seconds) else max(0.0, seconds)
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now())
    except (TypeError, ValueError, OverflowError):
        return None


def shown_seconds(seconds: float) -> str:
    """Seconds as a person says them."""
    if not math.isfinite(seconds):
        return "for ever"
    if seconds >= 7200:
        return f"{seconds / 3600:.0f} hours"
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.3g} s"
