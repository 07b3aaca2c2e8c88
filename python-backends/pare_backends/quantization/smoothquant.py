"""SmoothQuant (Xiao et al. 2022, arXiv 2211.10438): outliers of a layer's inputs are moved into its
weights, where what makes the inputs can take the scales back; then both are rounded to 8 bits.

With a smoothing of 0 nothing is moved: plain W8A8, by ranges that are fixed or found as the model
runs, or W8A16, where inputs stay floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.device import on_device
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Block, BlockPass, Inputs
from pare_backends.pruning.calibrated import all_experts
from pare_backends.quantization.folding.folds import Fold, Folds, find_folds
from pare_backends.quantization.folding.scaling import Scaling, unscaled_note, usable_scales
from pare_backends.quantization.folding.statistics import (
    InputStatistics,
    gather,
    read_statistics,
)
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.rounding import round_matrix, usable

BITS = 8
LARGEST = 127
COMPARED_TOKENS = 16
"""Tokens on which a fold is tried; float32 sums of more tell no more."""


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/smoothquant.ts declares them."""

    smoothing: float
    weight_scale: str
    group_size: int
    activation_scheme: str
    activation_group_size: int
    samples: int
    targets: str

    @property
    def weight_group(self) -> int:
        """Weights of a row that share a scale; -1 = all."""
        return self.group_size if self.weight_scale == "per_group" else -1

    @property
    def input_group(self) -> int:
        """Features of a token that share a scale; -1 = all."""
        return self.activation_group_size if self.activation_scheme == "dynamic" else -1


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Smooths and rounds the linear layers, block after block, by the inputs of the model as it
    came."""
    layers = context.layout.linear
    for group in (params.weight_group, params.input_group):
        check_layers(checkpoint, context.layout, layers, group)
    outer = context.layout.part("embedding") if params.targets == "all" else ()
    check_layers(checkpoint, context.layout, outer, params.weight_group)
    windows = context.calibration(params.samples)
    model, windows = on_device(context.load_linear(checkpoint)[0], windows)
    modules = {layer: context.layout.modules[layer] for layer in layers}
    folds = Folds((), ())
    if params.smoothing > 0:
        with context.report.span("fold"):
            tokens = windows[:1, :COMPARED_TOKENS]
            folds = find_folds(model, modules, context.layout.experts, tokens)
    work = Work(params, context, Scaling(model, modules, checkpoint), folds)
    with context.report.span("quantize"), all_experts(context):
        BlockPass(model, modules, gather).run(windows, work.block)
    if params.smoothing > 0:
        context.notes.append(unscaled_note(folds, work.done))
    for layer in outer:  # folds end before the last norm: what the head is given stays as it was
        work.tensors[layer] = context.in_place(
            layer, work.rounded(layer, context.matrix(checkpoint, layer))
        )
    return checkpoint.with_floats(work.scaling.floats).with_stored(
        {layer: work.tensors[layer] for layer in (*layers, *outer)}
    )


@dataclass
class Work:
    """Block after block: scales for all of it, then the rounding."""

    params: Params
    context: Context
    scaling: Scaling
    folds: Folds
    tensors: dict[str, GridTensor] = field(default_factory=dict)
    done: list[Fold] = field(default_factory=list)

    def block(self, block: Block, inputs: Mapping[str, Inputs]) -> bool:
        """Rounds a block's layers; says that the model itself stays as it is."""
        known = {id(held): read_statistics(held) for held in inputs.values()}
        statistics = {layer: known[id(inputs[layer])] for layer in block.layers}
        for fold in self.folds.folds:
            if fold.readers[0] in statistics and self.scaling.can_fold(fold):
                weights = [self.scaling.weight(layer) for layer in fold.readers]
                largest = statistics[fold.readers[0]].largest.double().numpy()
                self.scaling.fold(fold, smooth_scales(largest, weights, self.params.smoothing))
                self.done.append(fold)
        for layer in block.layers:
            made = self.round(layer, statistics[layer])
            self.tensors[layer] = self.context.in_place(layer, made)
            self.context.report.progress(
                "round", len(self.tensors), len(self.scaling.modules), "layers"
            )
        return False

    def round(self, layer: str, statistics: InputStatistics) -> GridTensor:
        """A layer with the scales that it got, and what is said of its inputs."""
        params, scaling = self.params, self.scaling
        weight = scaling.weight(layer)
        made = self.rounded(layer, weight)
        if params.activation_scheme == "floats":
            return made
        fixed = None
        if params.activation_scheme == "static":
            scales = scaling.inputs.get(layer, np.ones(weight.shape[1]))
            fixed = input_scale(statistics.largest.double().numpy() / scales)
            self.context.figure("input_scale", fixed, layer=layer)
        return replace(
            made,
            activation_bits=BITS,
            activation_group_size=params.input_group,
            activation_scale=fixed,
        )

    def rounded(self, layer: str, weight: np.ndarray) -> GridTensor:
        """A matrix with the scales that were asked for, its inputs floats. weight: (out, in)"""
        threads = self.context.report.threads
        if self.params.weight_scale == "per_tensor":
            return round_whole(layer, weight, threads)
        return round_matrix(layer, weight, BITS, self.params.weight_group, True, threads=threads)


def smooth_scales(largest: np.ndarray, weights: list[np.ndarray], smoothing: float) -> np.ndarray:
    """max|x|^a / max|w|^(1 - a) for each input, the largest weight of all readers (equation 4).

    largest: (in,) float64; weights: (out, in) each; returns: (in,) float64 around 1
    """
    reach = np.max([np.abs(weight).max(axis=0) for weight in weights], axis=0).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return usable_scales(largest**smoothing / reach ** (1 - smoothing))


def input_scale(largest: np.ndarray) -> float:
    """The step by which the largest input seen is the largest integer; 1 where none was seen."""
    reach = float(largest.max())
    return float(np.float32(reach / LARGEST)) if reach > 0 else 1.0


def round_whole(layer: str, weight: np.ndarray, threads: int) -> GridTensor:
    """The matrix with one scale, which stands in the file once for each row: every runtime reads
    that. weight: (out, in)"""
    made = round_matrix(layer, weight, BITS, -1, True, threads=threads)
    scales = np.full_like(made.scales, usable(np.abs(weight).max(keepdims=True) / LARGEST).item())
    ints = np.clip(np.rint(weight / scales), -LARGEST - 1, LARGEST).astype(np.int8)
    return replace(made, ints=ints, scales=scales)
