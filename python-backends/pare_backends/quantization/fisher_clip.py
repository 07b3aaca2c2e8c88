"""Gradient-aware clipping: each group's range is shrunk to where the loss rises least, by the
diagonal of the Fisher information, the mean squared gradient of what the model says."""

from __future__ import annotations

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.device import on_device
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.mixing.fisher import fisher_diagonal
from pare_backends.quantization.rounding import grid, place, ranges, round_matrix

LEAST_SHARE = 1e-2
"""Of a matrix's mean: what a weight counts at least, as few windows leave many near zero."""


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/fisher_clip.ts declares them."""

    bits: int
    group_size: int
    symmetric: bool
    samples: int
    search_steps: int
    targets: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds every matrix of the chosen part with the ranges that its gradients choose; those of
    an embedding that is the output head too are of both uses."""
    layers = context.layout.part(params.targets)
    check_layers(checkpoint, context.layout, layers, params.group_size)
    windows = context.calibration(params.samples)
    model, windows = on_device(context.load_linear(checkpoint)[0], windows)
    modules = {layer: context.layout.modules[layer] for layer in layers}
    report = context.report
    with report.span("fisher"):
        told = lambda done: report.progress("gradients", done, len(windows), "windows")  # noqa: E731
        fisher = fisher_diagonal(model, modules, windows, context.seed, told)
    tensors: dict[str, GridTensor] = {}
    lost = plain = 0.0
    with report.span("quantize"):
        for done, layer in enumerate(layers, start=1):
            weight = context.matrix(checkpoint, layer)
            counts = fisher.pop(layer).float().cpu().numpy()
            made = clipped(layer, weight, counts, params)
            own = (params.bits, params.group_size, params.symmetric)
            lost += rise(weight, made, counts)
            plain += rise(weight, round_matrix(layer, weight, *own, threads=report.threads), counts)
            tensors[layer] = context.in_place(layer, made)
            report.progress("round", done, len(layers), "layers")
    context.figure("loss_rise", lost, "nats")
    context.figure("loss_rise_unclipped", plain, "nats")
    context.notes.append(
        f"By the Fisher information of {params.samples} windows rounding costs {lost:.4g} nats a"
        f" token, {plain:.4g} without the clip"
    )
    return checkpoint.with_stored(tensors)


def rise(weight: np.ndarray, made: GridTensor, counts: np.ndarray) -> float:
    """Second-order estimate of what rounding adds to the loss. weight, counts: (out, in)"""
    return 0.5 * float((counts * np.square(made.dequantize() - weight)).sum(dtype=np.float64))


def clipped(layer: str, weight: np.ndarray, counts: np.ndarray, params: Params) -> GridTensor:
    """The matrix with, for each group, the range of least error, each weight's squared error
    counted as often as its squared gradient says.

    weight: (out, in) float32; counts: (out, in) float32, at least 0
    """
    bits, size, symmetric = params.bits, params.group_size, params.symmetric
    best = round_matrix(layer, weight, bits, size, symmetric)  # checks what cannot be rounded
    rows, columns = weight.shape
    width = columns if size == -1 else size
    groups = np.ascontiguousarray(weight.reshape(-1, width))
    mean = float(counts.mean())
    floor = LEAST_SHARE * mean if mean > 0 else 1.0
    share = (counts + floor).reshape(-1, width)
    smallest, largest = ranges(groups, symmetric)
    scales = best.scales.reshape(-1, 1).astype(np.float32)
    zeros = (
        np.zeros_like(scales)
        if best.zero_points is None
        else best.zero_points.reshape(-1, 1).astype(np.float32)
    )
    work = np.empty_like(groups)
    lowest = weighted(groups, scales, zeros, bits, share, work)
    for factor in (float(f) for f in np.linspace(1.0, 0.5, params.search_steps)[1:]):
        tried, shifted = grid(smallest * factor, largest * factor, bits, symmetric)
        error = weighted(groups, tried, shifted, bits, share, work)
        better = error < lowest
        scales, zeros = np.where(better, tried, scales), np.where(better, shifted, zeros)
        lowest = np.minimum(error, lowest)
    place(groups, scales, zeros, bits, work)
    return GridTensor(
        work.astype(np.int8).reshape(rows, columns),
        scales.reshape(rows, -1),
        None if symmetric else zeros.astype(np.int8).reshape(rows, -1),
        bits,
        size,
    )


def weighted(
    groups: np.ndarray,
    scales: np.ndarray,
    zeros: np.ndarray,
    bits: int,
    share: np.ndarray,
    work: np.ndarray,
) -> np.ndarray:
    """Sum of squared differences a group, each weight's by its share.

    groups, share, work: (n, g); returns: (n, 1)
    """
    place(groups, scales, zeros, bits, work)
    work -= zeros
    work *= scales
    work -= groups
    error: np.ndarray = np.einsum("ij,ij,ij->i", work, work, share)[:, None]
    return error
