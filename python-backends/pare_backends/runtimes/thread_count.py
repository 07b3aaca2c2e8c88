"""With how many threads llama.cpp computes beside other processes.

Its threads spin while they wait for each other, so one whose core another process has taken keeps
all of them waiting. On two cores beside three busy processes a token of a model of 135 M
parameters took 200 to 270 ms with two threads and 33 with one. The logits are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable

EVERY = 32
"""Of so many calls one is made with another number of threads, to see whether it is faster."""
LATEST = 0.3
"""Share of the latest call in what a number of threads is taken to need."""


def others_compute() -> bool:
    """Whether more wants to run than there are cores; False where the system does not say."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1) + 0.5
    except (AttributeError, OSError):  # Windows has no such figure
        return False


class ThreadCount:
    """Chooses for calls that are alike: all threads on a quiet machine, else what is fastest."""

    def __init__(self, most: int, busy: Callable[[], bool] = others_compute) -> None:
        self._most, self._busy, self._calls = most, busy, 0
        self._counts = sorted({most, max(1, most // 2), 1}, reverse=True)
        self._seconds: dict[int, float] = {}

    def choose(self) -> int:
        """For the next call."""
        if not self._busy():
            self._seconds.clear()
            return self._most
        untried = [count for count in self._counts if count not in self._seconds]
        if untried:
            return untried[0]
        fastest, *others = sorted(self._counts, key=lambda count: self._seconds[count])
        self._calls += 1
        if others and self._calls % EVERY == 0:
            return others[self._calls // EVERY % len(others)]
        return fastest

    def took(self, count: int, seconds: float) -> None:
        """What a call took, for each token. One that looks at another number counts as it is."""
        known = self._seconds
        usual = count in known and known[count] == min(known.values())
        known[count] = known[count] + LATEST * (seconds - known[count]) if usual else seconds
