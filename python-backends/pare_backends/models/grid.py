"""Whether a model's weights already lie on a uniform grid, as after an import from GGUF.

On such weights a method that rounds to the same grid is exact and wins by construction, which
says nothing about the method: so the grid is found, recorded and its methods are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ON_GRID = 2e-3
"""Largest relative Frobenius error that counts as exact: float16 scales of a source file cost
about 5e-4, rounding real weights to 8 bits in groups of 32 about 4e-3."""
BITS = (2, 3, 4, 5, 6, 8)
GROUPS = (32, 64, 128, 16, 256)
SAMPLED_LAYERS = 4
SAMPLED_ROWS = 32
CONFIRM_ROWS = 64


@dataclass(frozen=True)
class Grid:
    """A uniform grid: integers of `bits` bits with a scale (and an offset) for each group."""

    bits: int
    group_size: int
    symmetric: bool

    def error(self, weights: np.ndarray) -> float:
        """Relative Frobenius error of rounding to the grid.

        weights: (rows, columns) float32
        """
        groups = weights.reshape(-1, self.group_size)
        rounded = to_symmetric(groups, self.bits) if self.symmetric else to_range(groups, self.bits)
        norm = float(np.linalg.norm(groups))
        return float(np.linalg.norm(groups - rounded)) / norm if norm > 0 else 0.0


def to_range(groups: np.ndarray, bits: int) -> np.ndarray:
    """Rounds each row to 2^bits points spread evenly from its smallest to its largest value."""
    low = groups.min(axis=1, keepdims=True)
    step = (groups.max(axis=1, keepdims=True) - low) / (2**bits - 1)
    step[step == 0] = 1
    return np.round((groups - low) / step) * step + low


def to_symmetric(groups: np.ndarray, bits: int) -> np.ndarray:
    """Rounds each row to multiples of one step; the better of the two usual steps, in which the
    largest value stands for 2^(bits−1) − 1 or, with its sign, for −2^(bits−1)."""
    top = 2 ** (bits - 1)
    largest = np.abs(groups).max(axis=1, keepdims=True)
    best, lowest = groups, np.full((len(groups), 1), np.inf)
    for steps in (top - 1, top):
        step = largest / steps
        step[step == 0] = 1
        rounded = np.round(groups / step) * step
        error = np.square(rounded - groups).sum(axis=1, keepdims=True)
        best = np.where(error < lowest, rounded, best)
        lowest = np.minimum(error, lowest)
    return best


def candidates(columns: Sequence[int]) -> list[Grid]:
    """Grids that could fit these row lengths, coarse ones first: a finer one holds them too."""
    groups = [size for size in GROUPS if all(length % size == 0 for length in columns)]
    return [Grid(b, g, s) for b in BITS for g in groups for s in (True, False)]


def detect_grid(
    layers: Sequence[str], weight: Callable[[str], np.ndarray], columns: Sequence[int]
) -> dict[str, Any] | None:
    """`WeightGrid` of the wire, or None. Some rows of some layers choose the grid, some rows of
    every layer confirm it; `weight(layer)` gives (out, in) float32.
    """
    if not layers:
        return None
    step = max(1, len(layers) // SAMPLED_LAYERS)
    samples = [rows_of(weight(layer), SAMPLED_ROWS) for layer in layers[::step][:SAMPLED_LAYERS]]
    found = next(
        (g for g in candidates(columns) if all(g.error(sample) <= ON_GRID for sample in samples)),
        None,
    )
    if found is None:
        return None
    on_grid, total, largest = 0, 0, 0.0
    for layer in layers:
        weights = weight(layer)
        error = found.error(rows_of(weights, CONFIRM_ROWS))
        total += weights.size
        if error <= ON_GRID:
            on_grid += weights.size
            largest = max(largest, error)
    return {
        "bits": found.bits,
        "group_size": found.group_size,
        "symmetric": found.symmetric,
        "fraction": on_grid / total,
        "relative_error": largest,
    }


def rows_of(weights: np.ndarray, count: int) -> np.ndarray:
    """At most `count` rows, spread over the matrix."""
    step = max(1, weights.shape[0] // count)
    return np.ascontiguousarray(weights[::step][:count])
