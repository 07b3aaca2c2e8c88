"""Half-quadratic quantization (Badri & Shaji 2023): no calibration data. Few large errors are let
stand as outliers and the grid is fitted to the rest, which a norm below 1 of the error asks for.

As published: the errors' part that is kept out is a shrinkage of the p-norm, 0.7, its weight grows
by 1.01 a step from 10, in the group's own unit. Not as published: zero points are whole steps, as
the grid stores them, and the scale is fitted too; a group's best step is kept, by mean absolute
error, which is what the published code stops by.
"""

from __future__ import annotations

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.each_layer import round_each
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.rounding import grid, place, ranges, usable

NORM, WEIGHT, GROWTH = 0.7, 10.0, 1.01
CHUNK_VALUES = 1 << 17  # weights worked on at a time, as in `rounding`


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/hqq.ts declares them."""

    bits: int
    group_size: int
    iters: int
    targets: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds every matrix of the chosen part by itself."""
    layers = context.layout.part(params.targets)
    check_layers(checkpoint, context.layout, layers, params.group_size)
    own = (params.bits, params.group_size, params.iters)
    return round_each(
        checkpoint, context, layers, lambda layer, weights: fitted(layer, weights, *own)
    )


def fitted(name: str, weights: np.ndarray, bits: int, group_size: int, iters: int) -> GridTensor:
    """The matrix on the grids that the search ends with.

    weights: (o, i) float32; `name` is for the failure's sentence
    """
    if not np.isfinite(weights).all():
        raise CallFailure("not_a_number", f"Cannot quantize {name}: its weights are not finite")
    rows, columns = weights.shape
    groups = weights.reshape(-1, columns if group_size == -1 else group_size)
    step = max(1, CHUNK_VALUES // groups.shape[1])
    ints = np.empty(groups.shape, np.int8)
    scales = np.empty((len(groups), 1), np.float32)
    zeros = np.empty((len(groups), 1), np.int8)
    for start in range(0, len(groups), step):
        part = slice(start, start + step)
        scales[part], found = half_quadratic(groups[part], bits, iters)
        work = np.empty_like(groups[part])
        place(groups[part], scales[part], found, bits, work)
        ints[part], zeros[part] = work.astype(np.int8), found.astype(np.int8)
    held = (ints.reshape(rows, columns), scales.reshape(rows, -1), zeros.reshape(rows, -1))
    return GridTensor(*held, bits, group_size, None, -1)


def half_quadratic(groups: np.ndarray, bits: int, iters: int) -> tuple[np.ndarray, np.ndarray]:
    """(scales, zero points) of the step with the least mean absolute error of each group; the first
    one is rounding to nearest.

    groups: (n, g) float32; returns: (n, 1), (n, 1) float32, the zero points whole numbers
    """
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    scales, zeros = grid(*ranges(groups, False), bits, False)
    best, kept = np.full_like(scales, np.inf), (scales, zeros)
    unit = scales * (2**bits - 1) / 2  # half of the range: the shrinkage knows no scale
    weight = WEIGHT
    work = np.empty_like(groups)
    for _ in range(iters + 1):
        place(groups, scales, zeros, bits, work)
        errors = groups - (work - zeros) * scales
        lost = np.abs(errors).mean(axis=1, keepdims=True)
        better = lost < best
        best = np.where(better, lost, best)
        kept = (np.where(better, scales, kept[0]), np.where(better, zeros, kept[1]))
        wanted = groups - outliers(errors / unit, weight) * unit
        scales = least_squares(wanted, work, zeros, scales)
        zeros = np.clip(np.rint((work - wanted / scales).mean(1, keepdims=True)), low, high)
        weight *= GROWTH
    return kept


def outliers(errors: np.ndarray, weight: float) -> np.ndarray:
    """Generalised soft thresholding of the p-norm: the part of each error that is let stand."""
    size = np.abs(errors)
    with np.errstate(divide="ignore", over="ignore"):
        shrunk = size - np.power(size, NORM - 1) / weight
    kept: np.ndarray = np.sign(errors) * np.maximum(shrunk, 0)
    return kept.astype(np.float32)


def least_squares(
    wanted: np.ndarray, ints: np.ndarray, zeros: np.ndarray, scales: np.ndarray
) -> np.ndarray:
    """The scales that bring the integers nearest, as stored; as they were where none does."""
    points = ints - zeros
    power = np.einsum("ij,ij->i", points, points)[:, None]
    along = np.einsum("ij,ij->i", points, wanted)[:, None]
    fits = (power > 0) & (along > 0)
    return usable(np.where(fits, along / np.where(power > 0, power, 1), scales))
