"""Round-to-nearest on a uniform grid: the arithmetic under the methods of our own."""

from __future__ import annotations

import numpy as np

from pare_backends.checkpoint.quantized import QuantizedTensor, stored_scales
from pare_backends.failures import StageFailure

CHUNK_VALUES = 1 << 23  # weights worked on at a time: bounds memory beside the matrix itself
CLIP_FACTORS = np.linspace(1.0, 0.5, 21)


def round_matrix(
    name: str,
    weights: np.ndarray,
    bits: int,
    group_size: int,
    symmetric: bool,
    clip: bool = False,
    activation_bits: int | None = None,
) -> QuantizedTensor:
    """The matrix on the nearest points of a grid with one scale a group.

    `clip` shrinks each group's range to what makes its squared error least.
    weights: (o, i) float32; `name` is for the failure's sentence
    """
    if not np.isfinite(weights).all():
        raise StageFailure("not_a_number", f"Cannot quantize {name}: its weights are not finite")
    rows, columns = weights.shape
    width = columns if group_size == -1 else group_size
    if columns % width != 0:
        raise StageFailure(
            "invalid",
            f"Cannot quantize {name} in groups of {width}: it must divide the row's {columns}"
            " weights",
        )
    step = max(1, CHUNK_VALUES // columns)
    parts = [
        round_groups(weights[start : start + step].reshape(-1, width), bits, symmetric, clip)
        for start in range(0, rows, step)
    ]
    ints = np.concatenate([part[0] for part in parts]).reshape(rows, columns)
    scales = np.concatenate([part[1] for part in parts]).reshape(rows, -1)
    zeros = np.concatenate([part[2] for part in parts]).reshape(rows, -1)
    return QuantizedTensor(
        ints, scales, None if symmetric else zeros, bits, group_size, activation_bits
    )


def round_groups(
    groups: np.ndarray, bits: int, symmetric: bool, clip: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(ints int8, scales float32, zero points int8) of groups.

    groups: (n, g) float32; returns: (n, g), (n, 1), (n, 1)
    """
    best = round_range(groups, bits, symmetric, 1.0)
    if not clip:
        return best
    lowest = squared_error(groups, *best)
    for factor in CLIP_FACTORS[1:]:
        found = round_range(groups, bits, symmetric, float(factor))
        error = squared_error(groups, *found)
        better = error < lowest
        ints, scales, zeros = (
            np.where(better, new, old) for new, old in zip(found, best, strict=True)
        )
        best = (ints, scales, zeros)
        lowest = np.where(better, error, lowest)
    return best


def round_range(
    groups: np.ndarray, bits: int, symmetric: bool, factor: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`round_groups` with each group's range multiplied by `factor`."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if symmetric:
        scales = usable(np.abs(groups).max(axis=1, keepdims=True) * (factor / high))
        zeros = np.zeros_like(scales)
    else:
        # Zero stays a point of the grid: the layout stores zero points as integers.
        smallest = np.minimum(groups.min(axis=1, keepdims=True), 0) * factor
        largest = np.maximum(groups.max(axis=1, keepdims=True), 0) * factor
        scales = usable((largest - smallest) / (high - low))
        zeros = np.clip(np.round(low - smallest / scales), low, high)
    ints = np.clip(np.round(groups / scales + zeros), low, high)
    return ints.astype(np.int8), scales, zeros.astype(np.int8)


def usable(scales: np.ndarray) -> np.ndarray:
    """Scales as they will be stored, 1 where a group is all zeros."""
    return stored_scales(np.where(scales == 0, 1.0, scales).astype(np.float32))


def squared_error(
    groups: np.ndarray, ints: np.ndarray, scales: np.ndarray, zeros: np.ndarray
) -> np.ndarray:
    """Sum of squared differences a group.

    groups: (n, g); returns: (n, 1)
    """
    back = (ints.astype(np.float32) - zeros.astype(np.float32)) * scales
    return np.square(back - groups).sum(axis=1, keepdims=True)
