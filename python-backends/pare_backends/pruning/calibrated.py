"""Pruning by what calibration text brings to each weight, block after block, each on the outputs
of those that are pruned already.

The arithmetic is llm-compressor's (`llmcompressor.modifiers.pruning`): its functions on tensors.
Its `oneshot` is not used: it keeps nothing of a run that was killed, and its spread by outliers
fails (`outliers.py`). A test holds the zeros to those of `oneshot`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.forms.floats import half
from pare_backends.device import on_device
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Accumulate, Block, BlockPass, Inputs, blocks_of
from pare_backends.pruning.finished_blocks import FinishedBlocks, as_module_weight
from pare_backends.pruning.outliers import OUTLIER, spread_over_blocks
from pare_backends.pruning.unstructured import PATTERNS, check_layers, stored

if TYPE_CHECKING:
    import torch

LAYER_SPARSITY = ("uniform", "outliers", "sensitivity")
MEASURES = {"outliers": "outlier_ratio", "sensitivity": "error_alone"}
"""The figure that tells by what zeros are spread, by the knob's value."""
ALL_EXPERTS = (
    "each expert's weights are weighed by all tokens of its block, however few are its own"
)


class CalibratedParams(Protocol):
    """Knobs that every method of the kind has."""

    @property
    def sparsity(self) -> float: ...
    @property
    def pattern(self) -> str: ...
    @property
    def layer_sparsity(self) -> str: ...
    @property
    def samples(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def stored_as(self) -> str: ...


@dataclass(frozen=True)
class Work:
    """What is pruned, on what text, and where it is kept meanwhile."""

    model: Any
    modules: Mapping[str, str]  # by layer
    windows: torch.Tensor
    finished: FinishedBlocks
    context: Context

    def module(self, layer: str) -> Any:
        """The module that computes with a layer."""
        return self.model.get_submodule(self.modules[layer])


@dataclass(frozen=True)
class Rule:
    """How a method weighs weights, and which it makes zero."""

    accumulate: Accumulate
    sparsify: Callable[[str, Any, Inputs, float, tuple[int, int]], torch.Tensor]
    """(layer, module, inputs, share of zeros, (zeros, of so many) or (0, 0)) -> weight (out, in)"""


def prune(
    checkpoint: Checkpoint, params: CalibratedParams, context: Context, rule: Rule
) -> Checkpoint:
    """The linear layers with zeros where the rule puts them."""
    spread = None
    if params.layer_sparsity != "uniform":
        spread = f"zeros spread by {params.layer_sparsity}"
    check_layers(checkpoint, context, params.sparsity, params.pattern, spread)
    windows = context.calibration(params.samples, params.tokens)
    model, windows = on_device(context.load_linear(checkpoint)[0], windows)
    modules = {layer: context.layout.modules[layer] for layer in context.layout.linear}
    work = Work(model, modules, windows, FinishedBlocks(context.work_dir), context)
    with context.report.span("prune", library=True), all_experts(context):
        weights = prune_blocks(work, shares_of(work, params, rule), params.pattern, rule)
    context.figure("calibration_tokens", windows.numel(), "tokens")
    turned = context.layout.transposed
    own = {layer: weights[layer] for layer in context.layout.linear}
    return stored(
        checkpoint,
        {layer: w.T if layer in turned else w for layer, w in own.items()},
        params.stored_as,
        context,
    )


def prune_blocks(
    work: Work, shares: Mapping[str, float], pattern: str, rule: Rule
) -> dict[str, np.ndarray]:
    """The pruned weights by layer, (out, in), as they are stored. shares: of zeros, by block"""
    finished, context = work.finished, work.context
    kept, width = PATTERNS.get(pattern, (0, 0))
    weights: dict[str, np.ndarray] = {}

    def put(layer: str, values: np.ndarray) -> None:
        module = work.module(layer)
        module.weight.copy_(as_module_weight(module, values))
        weights[layer] = values
        context.report.progress("prune", len(weights), len(work.modules), "layers")

    def found(block: Block) -> bool:
        there = finished.find(block)
        if there is None:
            return False
        for layer in block.layers:
            put(layer, there[0][layer])
        context.figure("output_error", there[1]["output_error"], layer=block.module)
        return True

    def change(block: Block, inputs: Mapping[str, Inputs]) -> bool:
        for layer in block.layers:
            zeros, share = (width - kept, width), shares[block.module]
            made = rule.sparsify(layer, work.module(layer), inputs[layer], share, zeros)
            put(layer, half(made.detach().cpu().numpy()))
        return True

    def changed(block: Block, error: float) -> None:
        own = {layer: weights[layer] for layer in block.layers}
        finished.keep(block, own, {"output_error": error})
        context.figure("output_error", error, layer=block.module)

    passing = BlockPass(work.model, work.modules, rule.accumulate)
    passing.run(work.windows, change, found, changed)
    return weights


def shares_of(work: Work, params: CalibratedParams, rule: Rule) -> dict[str, float]:
    """The share of zeros of each block: the same, or spread by a measure of the unpruned model."""
    blocks = blocks_of(work.model, work.modules)
    if params.layer_sparsity == "uniform":
        return {block.module: params.sparsity for block in blocks}
    found = work.finished.find_spread() or {}
    if len(found) < len(blocks):
        if params.layer_sparsity == "outliers":
            found = outlier_ratios(work, len(blocks))
        else:
            found = errors_alone(work, params.sparsity, rule, len(blocks))
        work.finished.keep_spread(found)
    sizes: dict[str, int] = {}
    for block in blocks:
        sizes[block.module] = sum(work.module(layer).weight.numel() for layer in block.layers)
        work.context.figure(
            MEASURES[params.layer_sparsity], found[block.module], layer=block.module
        )
    return spread_over_blocks(found, sizes, params.sparsity)


def outlier_ratios(work: Work, count: int) -> dict[str, float]:
    """The share of outliers among the scores of each of so many blocks."""
    import torch

    ratios: dict[str, float] = {}

    def look(block: Block, inputs: Mapping[str, Inputs]) -> bool:
        weights = {layer: work.module(layer).weight.abs() for layer in block.layers}
        scores = torch.cat([(w * inputs[n].sums.sqrt()).flatten() for n, w in weights.items()])
        ratios[block.module] = float((scores > OUTLIER * scores.mean()).double().mean())
        work.context.report.progress("look for outliers", len(ratios), count, "blocks")
        return False

    BlockPass(work.model, work.modules, row_norms).run(work.windows, look)
    return ratios


def errors_alone(work: Work, sparsity: float, rule: Rule, count: int) -> dict[str, float]:
    """How far each of so many blocks' outputs move, as a share of their squares, where that block
    alone has the share of zeros."""
    errors: dict[str, float] = {}
    weights: dict[str, torch.Tensor] = {}

    def change(block: Block, inputs: Mapping[str, Inputs]) -> bool:
        for layer in block.layers:
            module = work.module(layer)
            weights[layer] = module.weight.clone()
            made = rule.sparsify(layer, module, inputs[layer], sparsity, (0, 0))
            module.weight.copy_(made)
        return True

    def changed(block: Block, error: float) -> None:
        errors[block.module] = error
        for layer in block.layers:
            work.module(layer).weight.copy_(weights.pop(layer))
        work.context.report.progress("try each block", len(errors), count, "blocks")

    passing = BlockPass(work.model, work.modules, rule.accumulate, tried=True)
    passing.run(work.windows, change, changed=changed)
    return errors


def row_norms(module: Any, values: torch.Tensor, sums: Any, windows: int) -> tuple[Any, int]:
    """Squares of the norm of each input, a window's mean. returns: ((in,) float32, windows)"""
    from llmcompressor.modifiers.pruning.wanda import wanda_sparsify as library

    so_far = library.make_empty_row_scalars(module) if sums is None else sums
    added: tuple[Any, int] = library.accumulate_row_scalars(values, module, so_far, windows)
    return added


def all_experts(context: Context) -> Any:
    """Within, every expert of a mixture is given all tokens of its block, as GPTQ has it too."""
    from contextlib import nullcontext

    if not context.layout.experts:
        return nullcontext()
    from llmcompressor.modeling.moe.context import moe_calibration_context

    context.notes.append(ALL_EXPERTS)
    return moe_calibration_context()
