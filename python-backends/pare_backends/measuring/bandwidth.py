"""Memory bandwidth of this machine, now: the roof over the speed of decoding."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

ARRAY_BYTES = 128 * 2**20
"""Four times a large last-level cache."""
PASSES = 5


def bandwidth_meter(threads: int) -> Callable[[], float]:
    """A meter, whose memory is touched before it is asked: called later, it tells how many bytes a
    second `threads` threads read from memory together, the best of a few passes.

    Each thread takes the dot product of its part of a large float32 array with itself: reading
    alone, as decoding reads weights. A copy (one read and one write a value) is tried too and the
    larger figure taken, so that the roof is not too low where one thread cannot keep up.
    """
    source = np.ones(ARRAY_BYTES // 4, np.float32)
    target = np.ones(ARRAY_BYTES // 8, np.float32)
    return lambda: _read(source, target, threads)


def _read(source: np.ndarray, target: np.ndarray, threads: int) -> float:
    parts = np.array_split(source, threads)
    half = len(source) // 2
    pairs = list(
        zip(np.array_split(source[:half], threads), np.array_split(target, threads), strict=True)
    )
    with ThreadPoolExecutor(threads) as pool:

        def read() -> None:
            list(pool.map(lambda part: float(np.dot(part, part)), parts))

        def copy() -> None:
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))

        best = 0.0
        for work in (read, copy):  # a copy reads half of the bytes and writes as many
            for _ in range(PASSES):
                started = time.perf_counter()
                work()
                best = max(best, ARRAY_BYTES / (time.perf_counter() - started))
    return best
