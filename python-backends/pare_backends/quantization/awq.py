"""AWQ (Lin et al. 2023, arXiv 2306.00978): weights that meet large inputs are made larger before
they are rounded, so that they lose less, and what makes the inputs takes it back.

llm-compressor's needs a GPU; this is the same search on the second moments of the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.device import on_device
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Block, BlockPass, Inputs
from pare_backends.pruning.calibrated import all_experts
from pare_backends.quantization.folding.clip import difference, round_by_inputs
from pare_backends.quantization.folding.folds import Fold, Folds, find_folds
from pare_backends.quantization.folding.scaling import Scaling, unscaled_note, usable_scales
from pare_backends.quantization.folding.statistics import (
    InputStatistics,
    gather,
    read_statistics,
)
from pare_backends.quantization.head import round_outer
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.rounding import round_matrix

COMPARED_TOKENS = 16
"""Tokens on which a fold is tried; float32 sums of more tell no more."""


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/awq.ts declares them."""

    bits: int
    group_size: int
    symmetric: bool
    search_steps: int
    samples: int
    clip: bool
    targets: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds the chosen part by the inputs of the model as it came: the linear layers scaled, block
    after block; the output head by its ranges alone, as lookups would meet its scales."""
    layers = context.layout.part(params.targets)
    check_layers(checkpoint, context.layout, layers, params.group_size)
    windows = context.calibration(params.samples)
    model, windows = on_device(context.load_linear(checkpoint)[0], windows)
    outer: dict[str, GridTensor] = {}
    if params.targets != "linear":
        with context.report.span("head"):
            outer = round_outer(
                *(checkpoint, context, model, windows),
                round_head=lambda layer, weight, statistics: round_unscaled(
                    layer, weight, statistics, params, context
                ),
                round_table=lambda layer, weight: round_matrix(
                    *(layer, weight, params.bits, params.group_size, params.symmetric),
                    clip=params.clip,
                    threads=context.report.threads,
                ),
            )
    if params.targets == "embedding":
        return checkpoint.with_stored(outer)
    linear = context.layout.linear
    modules = {layer: context.layout.modules[layer] for layer in linear}
    with context.report.span("fold"):
        tokens = windows[:1, :COMPARED_TOKENS]
        folds = find_folds(model, modules, context.layout.experts, tokens)
    work = Work(params, context, Scaling(model, modules, checkpoint), folds)
    with context.report.span("quantize"), all_experts(context):
        BlockPass(model, modules, gather).run(windows, work.block)
    context.notes.append(unscaled_note(folds, work.done))
    return checkpoint.with_floats(work.scaling.floats).with_stored(
        {layer: work.tensors[layer] for layer in linear} | outer
    )


def round_unscaled(
    layer: str, weight: np.ndarray, statistics: InputStatistics, params: Params, context: Context
) -> GridTensor:
    """A layer whose inputs get no scales. weight: (out, in) float32"""
    return round_by_inputs(
        *(layer, weight, params.bits, params.group_size, params.symmetric, params.clip),
        *(statistics, np.ones(weight.shape[1]), context.report.threads),
    )


@dataclass
class Work:
    """Block after block: scales for all of it, then the rounding."""

    params: Params
    context: Context
    scaling: Scaling
    folds: Folds
    tensors: dict[str, GridTensor] = field(default_factory=dict)
    done: list[Fold] = field(default_factory=list)  # with scales other than 1

    def block(self, block: Block, inputs: Mapping[str, Inputs]) -> bool:
        """Rounds a block's layers; says that the model itself stays as it is."""
        known = {id(held): read_statistics(held) for held in inputs.values()}
        statistics = {layer: known[id(inputs[layer])] for layer in block.layers}
        for fold in self.folds.folds:
            if fold.readers[0] in statistics and self.scaling.can_fold(fold):
                self.search(fold, statistics[fold.readers[0]])
        for layer in block.layers:
            self.round(layer, statistics[layer])
            self.context.report.progress(
                "round", len(self.tensors), len(self.scaling.modules), "layers"
            )
        return False

    def search(self, fold: Fold, statistics: InputStatistics) -> None:
        """Folds the scales by which the readers' outputs err least, where none of them errs more
        than it does unscaled."""
        weights = [self.scaling.weight(layer) for layer in fold.readers]
        unscaled = [self.error(w, np.ones(w.shape[1]), statistics) for w in weights]
        least, best = sum(unscaled), None
        for power, scales in self.candidates(weights, statistics):
            errors = [self.error(w, scales, statistics) for w in weights]
            worse = any(error > before for error, before in zip(errors, unscaled, strict=True))
            if not worse and sum(errors) < least:
                least, best = sum(errors), (power, scales)
        exponent = 0.0 if best is None else best[0]
        self.context.figure("scale_exponent", exponent, layer=fold.readers[0])
        if best is not None:
            self.scaling.fold(fold, best[1])
            self.done.append(fold)

    def candidates(
        self, weights: Sequence[np.ndarray], statistics: InputStatistics
    ) -> Iterator[tuple[float, np.ndarray]]:
        """(exponent, scales): the mean input to a power, alone and over the mean weight to the
        rest of 1, as llm-compressor tries both."""
        inputs = statistics.mean.double().numpy()
        means = np.mean([np.abs(weight).mean(axis=0) for weight in weights], axis=0) + 1e-4
        for exponent in np.arange(1, self.params.search_steps) / self.params.search_steps:
            yield float(exponent), usable_scales(inputs**exponent)
            yield float(exponent), usable_scales(inputs**exponent / means ** (1 - exponent))

    def error(self, weight: np.ndarray, scales: np.ndarray, statistics: InputStatistics) -> float:
        """Squared error of a layer's outputs once it is scaled and rounded, without the clip."""
        params = self.params
        scaled = (weight * scales[None, :]).astype(np.float32)
        grid = (params.bits, params.group_size, params.symmetric)
        rounded = round_matrix("w", scaled, *grid, threads=self.context.report.threads)
        return statistics.error(difference(rounded, weight, scales))

    def round(self, layer: str, statistics: InputStatistics) -> None:
        """Rounds a layer with the scales that it got."""
        params, scaling = self.params, self.scaling
        weight = scaling.weight(layer)
        scales = scaling.inputs.get(layer, np.ones(weight.shape[1]))
        made = round_by_inputs(
            *(layer, weight, params.bits, params.group_size, params.symmetric, params.clip),
            *(statistics, scales, self.context.report.threads),
        )
        self.tensors[layer] = self.context.in_place(layer, made)
