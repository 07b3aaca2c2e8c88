"""Round-to-nearest on a uniform grid: the arithmetic under the methods of our own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pare_backends.checkpoint.forms.grid import GridTensor, stored_scales
from pare_backends.failures import CallFailure

CHUNK_VALUES = 1 << 17  # weights worked on at a time: half a megabyte stays in a core's cache
CLIP_FACTORS = np.linspace(1.0, 0.5, 21)


def round_matrix(
    name: str,
    weights: np.ndarray,
    bits: int,
    group_size: int,
    symmetric: bool,
    clip: bool = False,
    activation_bits: int | None = None,
    activation_group_size: int = -1,
    threads: int = 1,
) -> GridTensor:
    """The matrix on the nearest points of a grid with one scale per group.

    `clip` shrinks each group's range to what makes its error least, as `power_error` counts it. The
    integers are the same whatever the number of threads.
    weights: (o, i) float32; `name` is for the failure's sentence
    """
    if not np.isfinite(weights).all():
        raise CallFailure("not_a_number", f"Cannot quantize {name}: its weights are not finite")
    rows, columns = weights.shape
    width = columns if group_size == -1 else group_size
    if columns % width != 0:
        raise CallFailure(
            "invalid",
            f"Cannot quantize {name} in groups of {width}: it must divide the row's {columns}"
            " weights",
        )
    step = max(1, CHUNK_VALUES // columns)

    def rounded(start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        groups = weights[start : start + step].reshape(-1, width)
        return round_groups(groups, bits, symmetric, clip)

    # NumPy lets other threads run while it computes.
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(rounded, range(0, rows, step)))
    ints = np.concatenate([part[0] for part in parts]).reshape(rows, columns)
    scales = np.concatenate([part[1] for part in parts]).reshape(rows, -1)
    zeros = np.concatenate([part[2] for part in parts]).reshape(rows, -1)
    return GridTensor(
        ints,
        scales,
        None if symmetric else zeros,
        bits,
        group_size,
        activation_bits,
        activation_group_size,
    )


def round_groups(
    groups: np.ndarray, bits: int, symmetric: bool, clip: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(ints int8, scales float32, zero points int8) of groups.

    groups: (n, g) float32; returns: (n, g), (n, 1), (n, 1)
    """
    smallest, largest = ranges(groups, symmetric)
    scales, zeros = grid(smallest, largest, bits, symmetric)
    work = np.empty_like(groups)
    if clip:
        lowest = power_error(groups, scales, zeros, bits, work)
        for factor in (float(f) for f in CLIP_FACTORS[1:]):
            tried, shifted = grid(smallest * factor, largest * factor, bits, symmetric)
            error = power_error(groups, tried, shifted, bits, work)
            better = error < lowest
            scales, zeros = np.where(better, tried, scales), np.where(better, shifted, zeros)
            lowest = np.minimum(error, lowest)
    place(groups, scales, zeros, bits, work)
    return work.astype(np.int8), scales, zeros.astype(np.int8)


def ranges(groups: np.ndarray, symmetric: bool) -> tuple[np.ndarray, np.ndarray]:
    """What the grid of each group has to span: (n, 1) and (n, 1)."""
    if symmetric:
        largest = np.abs(groups).max(axis=1, keepdims=True)
        return -largest, largest
    # Zero stays a point of the grid: the layout stores zero points as integers.
    smallest = np.minimum(groups.min(axis=1, keepdims=True), 0)
    return smallest, np.maximum(groups.max(axis=1, keepdims=True), 0)


def grid(
    smallest: np.ndarray, largest: np.ndarray, bits: int, symmetric: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(scales, zero points) of grids that span these ranges.

    smallest, largest: (n, 1) float32; returns: (n, 1), (n, 1) float32
    """
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if symmetric:
        scales = usable(largest / high)
        return scales, np.zeros_like(scales)
    scales = usable((largest - smallest) / (high - low))
    return scales, np.clip(np.round(low - smallest / scales), low, high)


def place(
    groups: np.ndarray, scales: np.ndarray, zeros: np.ndarray, bits: int, work: np.ndarray
) -> None:
    """Puts the nearest integers of the grid into `work`, of the shape of groups."""
    np.divide(groups, scales, out=work)
    work += zeros
    np.rint(work, out=work)
    np.clip(work, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, out=work)


def power_error(
    groups: np.ndarray, scales: np.ndarray, zeros: np.ndarray, bits: int, work: np.ndarray
) -> np.ndarray:
    """Sum of |difference| ** 2.5 a group; in place, since the search for a clip asks 21 times.

    The large weights of a row carry more than their share of its output: squares alone clip them
    further than is good. llm-compressor's observer takes 2.4; a power takes three times as long
    as this.
    groups, work: (n, g); returns: (n, 1)
    """
    place(groups, scales, zeros, bits, work)
    work -= zeros
    work *= scales
    work -= groups
    np.abs(work, out=work)
    root = np.sqrt(work)
    work *= work
    error: np.ndarray = np.einsum("ij,ij->i", work, root)[:, None]
    return error


def usable(scales: np.ndarray) -> np.ndarray:
    """Scales as they will be stored, 1 where a group is all zeros."""
    return stored_scales(np.where(scales == 0, 1.0, scales).astype(np.float32))
