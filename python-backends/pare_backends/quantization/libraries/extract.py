"""Integers and scales out of a library's modules, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from pare_backends.checkpoint.forms.grid import GridTensor, stored_scales
from pare_backends.failures import CallFailure

EXACT = 1e-3
"""Largest distance from an integer, in steps: float32 arithmetic leaves about 1e-5."""


def grid_tensor(
    name: str,
    weights: Any,
    scales: Any,
    zero_points: Any | None,
    bits: int,
    group_size: int,
) -> GridTensor:
    """The integers that a library's dequantized weights stand for; it raises where the weights
    do not lie on the grid of these scales, so a misread grid cannot pass unseen.

    weights: (o, i) torch; scales, zero_points: (o, g) torch, zero points in the signed range.
    A scale may be negative: auto-round so gives the largest weight of a symmetric group the one
    value more that the integers have below zero.
    """
    steps = scales.detach().float().cpu().numpy().reshape(weights.shape[0], -1)
    values = weights.detach().float().cpu().numpy()
    if not (np.isfinite(values).all() and np.isfinite(steps).all()):
        raise CallFailure(
            "not_a_number", f"Cannot quantize {name}: its weights or scales are not finite"
        )
    rows, columns = values.shape
    zeros = np.zeros_like(steps)
    if zero_points is not None:
        zeros = zero_points.detach().float().cpu().numpy().reshape(steps.shape)
    exact = values.reshape(rows, steps.shape[1], -1) / steps[:, :, None] + zeros[:, :, None]
    ints = np.round(exact)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    off = float(np.abs(exact - ints).max())
    if off > EXACT or ints.min() < low or ints.max() > high:
        raise CallFailure(
            "crash",
            f"Cannot read the integers of {name}: its weights lie {off:.2g} steps off the grid of"
            f" its scales, from {ints.min():.0f} to {ints.max():.0f}",
        )
    return GridTensor(
        ints.reshape(rows, columns).astype(np.int8),
        stored_scales(steps),
        None if zero_points is None else zeros.astype(np.int8),
        bits,
        group_size,
    )
