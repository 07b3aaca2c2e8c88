"""Linear-feedback shift registers: a short seed stands for a long row of pseudo-random numbers."""

from __future__ import annotations

import functools

import numpy as np

TAPS = {
    4: (0, 1),
    6: (0, 1),
    8: (0, 2, 3, 4),
    10: (0, 3),
    12: (0, 1, 2, 8),
    14: (0, 1, 2, 12),
    16: (0, 1, 3, 12),
}
"""Bits of the state that are added to the new highest bit, by its width K, the lowest bit being 0
(SeedLM, arXiv 2410.10714, table 6): with these a register runs through all 2^K - 1 states but 0."""


@functools.cache
def cycle(width: int) -> tuple[np.ndarray, np.ndarray]:
    """(states in the order in which they follow one another, from 1 on; the place of each in it, −1
    of the state 0, which stays 0).

    A Fibonacci register that shifts right: the sum of the tapped bits becomes the highest.
    returns: (2^K − 1,) int64 and (2^K,) int64
    """
    period = (1 << width) - 1
    states = np.empty(period, dtype=np.int64)
    state = 1
    for place in range(period):
        states[place] = state
        bit = sum(state >> tap for tap in TAPS[width]) & 1
        state = state >> 1 | bit << (width - 1)
    places = np.full(period + 1, -1, dtype=np.int64)
    places[states] = np.arange(period)
    return states, places


def projections(seeds: np.ndarray, width: int, rows: int, columns: int) -> np.ndarray:
    """The whole numbers V − 2^(K−1) of each seed, V being filled row by row with the states that
    follow on the seed; divided by 2^(K−1) − 1 they lie from −1 to 1.

    seeds: (n,) from 1 to 2^K − 1; returns: (n, rows, columns) int64
    """
    states, places = cycle(width)
    steps = places[seeds][:, None] + np.arange(1, rows * columns + 1)
    return states[steps % len(states)].reshape(-1, rows, columns) - (1 << (width - 1))
