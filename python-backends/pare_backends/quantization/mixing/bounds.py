"""What an exact solver need not look at: options that no best mix can hold, by Lagrange's bound.

For any price λ of a byte, Σ min(score + λ · bytes) − λ · budget is at most the best mix's sum; an
option that raises that bound above the sum of a mix that is known cannot be in a better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PRICES = 80
"""Prices of a byte that are tried: grown until they are too high, then by halving."""
FIRST, GROWTH = 1e-15, 8.0
SLACK = 1e-9
"""Of the sums, that rounding may be off by: what lies so near is kept."""


@dataclass(frozen=True)
class Choices:
    """Decisions by options, padded with options of infinite score. d: decisions, o: options"""

    bytes: np.ndarray  # (d, o) int64, beyond the decision's smallest
    scores: np.ndarray  # (d, o) float64

    def picked(self, picks: np.ndarray) -> tuple[int, float]:
        """Bytes and summed score. picks: (d,) options"""
        rows = np.arange(len(picks))
        return int(self.bytes[rows, picks].sum()), float(self.scores[rows, picks].sum())


def choices_of(extras: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]) -> Choices:
    """The options of each decision side by side."""
    width = max((len(one) for one in extras), default=0)
    taken = np.zeros((len(extras), width), dtype=np.int64)
    value = np.full((len(extras), width), np.inf)
    for number, (own, of) in enumerate(zip(extras, scores, strict=True)):
        taken[number, : len(own)] = own
        value[number, : len(of)] = of
    return Choices(taken, value)


def worth_trying(choices: Choices, slack: int) -> tuple[np.ndarray, np.ndarray]:
    """Options that a best mix may hold, and a mix within the budget to begin with.

    slack: bytes beyond all smallest options, at least 0; returns: (d, o) bool, (d,) options
    """
    fits = (choices.bytes <= slack) & np.isfinite(choices.scores)
    possible = Choices(choices.bytes, np.where(fits, choices.scores, np.inf))
    rows = np.arange(len(possible.bytes))
    cheap = np.where(fits, possible.bytes, np.iinfo(np.int64).max).argmin(1)
    if len(rows) == 0:
        return fits, cheap
    low, high = 0.0, np.inf  # a price at which too many bytes are taken, one at which not
    best_bound, price, tried = -np.inf, 0.0, 0.0
    known = filled(possible, cheap, slack)
    for _ in range(PRICES):
        priced = possible.scores + tried * possible.bytes
        picks = priced.argmin(1)
        bound = float(priced.min(1).sum()) - tried * slack
        if bound > best_bound:
            best_bound, price = bound, tried
        if possible.picked(picks)[0] > slack:
            low = tried
        else:
            high = tried
            other = filled(possible, picks, slack)
            if possible.picked(other)[1] < possible.picked(known)[1]:
                known = other
            if high == 0.0:
                break
        tried = max(low * GROWTH, FIRST) if high == np.inf else (low + high) / 2
    priced = possible.scores + price * possible.bytes
    reached = best_bound + priced - priced.min(1, keepdims=True)
    least = possible.picked(known)[1]
    kept = fits & (reached <= least + SLACK * (1 + abs(least)))
    kept[rows, known] = True
    return kept, known


def filled(choices: Choices, picks: np.ndarray, slack: int) -> np.ndarray:
    """A mix within the budget with its spare bytes spent, the largest gain first. returns: (d,)"""
    rows = np.arange(len(picks))
    picks = picks.copy()
    left = slack - choices.picked(picks)[0]
    while True:
        more = choices.bytes - choices.bytes[rows, picks][:, None]
        gain = np.where(more <= left, choices.scores[rows, picks][:, None] - choices.scores, -1.0)
        row, column = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[row, column] <= 0:
            return picks
        left -= int(more[row, column])
        picks[row] = column
