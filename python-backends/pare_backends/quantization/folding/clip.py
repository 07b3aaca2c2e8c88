"""Ranges of groups shrunk to what makes a layer's outputs err least."""

from __future__ import annotations

import numpy as np

from pare_backends.checkpoint import GridTensor
from pare_backends.quantization.folding.statistics import InputStatistics
from pare_backends.quantization.rounding import grid, place, ranges, round_matrix

FACTORS = np.linspace(1.0, 0.5, 11)


def difference(rounded: GridTensor, weight: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """What rounding has changed, as the layer's own inputs meet it.

    weight: (out, in) without the scales of its inputs; scales: (in,); returns: (out, in) float32
    """
    return (rounded.dequantize() / scales[None, :] - weight).astype(np.float32)


def round_by_inputs(
    name: str,
    weight: np.ndarray,
    bits: int,
    group_size: int,
    symmetric: bool,
    clip: bool,
    statistics: InputStatistics,
    scales: np.ndarray,
    threads: int,
) -> GridTensor:
    """The matrix on a grid. With `clip` each group has the range by which its share of the outputs
    errs least, if the layer errs less by that than by the ranges that suit the weights alone.

    weight: (out, in) with the scales of its inputs; scales: (in,)
    """
    grid_of = (bits, group_size, symmetric)
    plain = round_matrix(name, weight, *grid_of, threads=threads)
    if not clip:
        return plain
    unscaled = weight / scales[None, :]
    tried = [
        plain,
        round_matrix(name, weight, *grid_of, clip=True, threads=threads),
        clipped(weight, bits, group_size, symmetric, statistics, scales),
    ]
    errors = [statistics.error(difference(one, unscaled, scales)) for one in tried]
    return tried[int(np.argmin(errors))]


def clipped(
    weight: np.ndarray,
    bits: int,
    group_size: int,
    symmetric: bool,
    statistics: InputStatistics,
    scales: np.ndarray,
) -> GridTensor:
    """Each group with the range by which its own columns' error weighs least. weight: (out, in)"""
    rows, columns = weight.shape
    width = columns if group_size == -1 else group_size
    products = statistics.products.double().numpy() / np.outer(scales, scales)
    own = products.reshape(columns // width, width, columns // width, width)
    moments = np.stack([own[n, :, n] for n in range(columns // width)]).astype(np.float32)
    groups = np.ascontiguousarray(weight.reshape(-1, width))
    smallest, largest = ranges(groups, symmetric)
    best_scales, best_zeros = grid(smallest, largest, bits, symmetric)
    lowest = np.full((len(groups), 1), np.inf, np.float32)
    work = np.empty_like(groups)
    for factor in (float(f) for f in FACTORS):
        steps, zeros = grid(smallest * factor, largest * factor, bits, symmetric)
        place(groups, steps, zeros, bits, work)
        work -= zeros
        work *= steps
        work -= groups
        by_group = work.reshape(rows, -1, width).transpose(1, 0, 2)
        error = ((by_group @ moments) * by_group).sum(2).T.reshape(-1, 1)
        better = error < lowest
        best_scales = np.where(better, steps, best_scales)
        best_zeros = np.where(better, zeros, best_zeros)
        lowest = np.minimum(error, lowest)
    place(groups, best_scales, best_zeros, bits, work)
    ints = work.astype(np.int8).reshape(rows, columns)
    zero_points = None if symmetric else best_zeros.astype(np.int8).reshape(rows, -1)
    return GridTensor(ints, best_scales.reshape(rows, -1), zero_points, bits, group_size)
