"""llama.cpp's own quantizer: k-quants and its other blocks, by its mixes of kinds, weighted by how
large the inputs of each column are on calibration text (its importance matrix)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import Checkpoint, GgmlTensor
from pare_backends.device import on_device
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.models.layout import Layout
from pare_backends.progress import Report
from pare_backends.quantization.head import LOOKUPS
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.layers.block_columns import round_blocks
from pare_backends.quantization.libraries.llama_quantize import FloatFile, Wanted, float_file
from pare_backends.quantization.mixing.assignment import NONE, named
from pare_backends.quantization.mixing.fisher import fisher_diagonal
from pare_backends.quantization.mixing.solve import Decision, Option, best_mix

if TYPE_CHECKING:
    import torch

BLOCK = 32
"""Weights of the smallest block, which every row must be whole ones of."""
KINDS = ("Q2_K", "Q3_K", "IQ4_XS", "Q4_K", "Q5_K", "Q6_K", "Q8_0")
"""That the Fisher information chooses from; where a row is no whole blocks, what stands in."""
EIGHT_BITS = "Q8_0"


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/kquant.ts declares them."""

    block_mix: str
    embedding_blocks: str
    head_blocks: str
    assignment: str
    kinds_by: str
    eight_bit_share: float
    rounded_by: str
    importance: bool
    samples: int


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Quantizes the linear layers by the mix, embedding and head as the knobs say."""
    layers = chosen_layers(params, context.layout)
    check_layers(checkpoint, context.layout, layers, BLOCK)
    if checkpoint.adapter is not None:
        raise CallFailure(
            "invalid",
            "Cannot quantize by llama.cpp: an adapter lies beside the weights",
            hint="Merge it (merge: true) in the action before",
        )
    share = params.eight_bit_share
    by_fisher = params.kinds_by == "fisher" or share > 0
    by_columns = params.rounded_by == "gptq"
    importance: Mapping[str, np.ndarray] = {}
    fisher: Mapping[str, torch.Tensor] = {}
    model: Any = None
    windows: Any = None
    if params.importance or by_fisher or by_columns:
        windows = context.calibration(params.samples)
        model, windows = on_device(context.load_linear(checkpoint)[0], windows)
        if params.importance:
            with context.report.span("importance"):
                importance = input_squares(model, context.layout, layers, windows, context.report)
        if by_fisher:
            fisher = fisher_of(model, windows, context)
        if not by_columns:
            model = None  # its memory is for the file
    kinds = {}
    if params.assignment != NONE:
        kinds = named(params.assignment, context.layout.linear)
    outer = (params.embedding_blocks, params.head_blocks)
    with float_file(context) as file:
        made = file.quantize(layers, Wanted(params.block_mix, *outer, kinds, importance))
        if by_fisher:
            alone = Wanted(params.block_mix, "floats", "floats", {}, importance)
            made |= spent_better(file, checkpoint, made, alone, fisher, context, share)
    if by_columns:
        made |= round_blocks(made, model, windows, context)
    counts = Counter(tensor.kind for tensor in made.values())
    told = ", ".join(f"{count} of {kind}" for kind, count in sorted(counts.items()))
    mix = params.block_mix if params.assignment == NONE else "quantizer"
    context.notes.append(f"llama.cpp's {mix} made these matrices: {told}")
    return checkpoint.with_stored(made)


def fisher_of(model: Any, windows: torch.Tensor, context: Context) -> Mapping[str, torch.Tensor]:
    """The Fisher information's diagonal of the linear layers' weights."""
    import torch

    layout = context.layout
    rows = {layer: [layout.modules[layer]] for layer in layout.linear}
    rows |= {layer: [one for own in stack for one in own] for layer, stack in layout.stacks.items()}
    modules = {module: module for own in rows.values() for module in own}

    def told(done: int) -> None:
        context.report.progress("gradients", done, len(windows), "windows")

    with context.report.span("fisher"):
        found = fisher_diagonal(model, modules, windows, context.seed, told)
        return {layer: torch.cat([found[one] for one in own]) for layer, own in rows.items()}


def spent_better(
    file: FloatFile,
    checkpoint: Checkpoint,
    made: Mapping[str, GgmlTensor],
    wanted: Wanted,
    fisher: Mapping[str, torch.Tensor],
    context: Context,
    eight_bit_share: float = 0.0,
) -> dict[str, GgmlTensor]:
    """The linear layers in the kinds by which the loss rises least, ½ Σ F · ΔW², in no more bytes
    than the mix takes.

    eight_bit_share: not 0: the choice is the mix's kind or Q8_0, in as many bytes more as that
    share of the weights takes. made: by the mix; wanted: of all but single layers' kinds
    """
    # Some the quantizer leaves in floats.
    linear = tuple(layer for layer in multiplied(context.layout) if layer in made)
    tried = {layer: {made[layer].kind: made[layer]} for layer in linear}
    for kind in KINDS if eight_bit_share == 0 else (EIGHT_BITS,):
        for layer, tensor in file.quantize(
            linear, replace(wanted, kinds=dict.fromkeys(linear, kind))
        ).items():
            tried[layer][tensor.kind] = tensor
    decisions, before = [], 0.0
    with context.report.span("score"):
        # Experts that lie in one tensor have one kind.
        for layers in file.in_one_tensor(linear):
            rises = dict.fromkeys(tried[layers[0]], 0.0)
            octets = dict.fromkeys(rises, 0)
            for layer in layers:
                weights = context.matrix(checkpoint, layer)
                weights = weights.reshape(-1, weights.shape[-1])
                for kind, tensor in tried[layer].items():
                    rises[kind] += rise(weights, tensor, fisher[layer])
                    octets[kind] += tensor.formula_bytes()
            before += rises[made[layers[0]].kind]
            options = [Option(kind, octets[kind], rises[kind]) for kind in rises]
            decisions.append(Decision(tuple(layers), tuple(options)))
    of_mix = sum(made[layer].formula_bytes() for layer in linear)
    of_eight = sum(tried[layer][EIGHT_BITS].formula_bytes() for layer in linear)
    budget = of_mix + int(eight_bit_share * (of_eight - of_mix))
    with context.report.span("solve"):
        chosen = best_mix(decisions, budget)
    after = sum(option.score for option in chosen)
    context.figure("loss_rise", after, "nats")
    context.figure("loss_rise_of_mix", before, "nats")
    context.notes.append(
        f"Kinds by the Fisher information: the loss is taken to rise by {after:.4g} nats a token,"
        f" by {before:.4g} with the mix's own kinds"
        + (" in as many bytes" if eight_bit_share == 0 else "")
    )
    return {
        layer: tried[layer][option.format]
        for decision, option in zip(decisions, chosen, strict=True)
        for layer in decision.layers
    }


def rise(weights: np.ndarray, tensor: GgmlTensor, fisher: torch.Tensor) -> float:
    """What the loss of a token is taken to rise by, in nats."""
    change = (weights - tensor.dequantize()).astype(np.float64)
    return 0.5 * float((fisher.double().cpu().numpy() * change**2).sum())


def multiplied(layout: Layout) -> tuple[str, ...]:
    """The layers between embedding and head, those that hold a block's experts among them."""
    return (*layout.linear, *layout.stacks)


def chosen_layers(params: Params, layout: Layout) -> tuple[str, ...]:
    """The layers that become blocks."""
    outer = () if params.embedding_blocks == "floats" else (layout.embedding,)
    if layout.head is not None and params.head_blocks != "floats":
        outer = (*outer, layout.head)
    return (*multiplied(layout), *outer)


def input_squares(
    model: Any, layout: Layout, layers: tuple[str, ...], windows: torch.Tensor, report: Report
) -> dict[str, np.ndarray]:
    """The mean square of every layer's input columns over these windows, as llama.cpp's matrix.

    An embedding that is the head too is looked up besides, where all columns weigh alike: that is
    added as head.py has it. An embedding alone has none, nor has an expert that saw no token; in a
    layer that holds a block's experts it has the mean of the others.
    windows: (n, tokens) int64; returns: (in,) float32 by layer, (experts, in) of such a one
    """
    import torch

    modules = {layer: layout.modules[layer] for layer in layers if layer in layout.linear}
    seen = {layer: model.get_submodule(module) for layer, module in modules.items()}
    stacks = {layer: stack for layer, stack in layout.stacks.items() if layer in layers}
    # What of an expert stands in one layer multiplies the same inputs.
    firsts = [own[0] for stack in stacks.values() for own in stack]
    seen |= {module: model.get_submodule(module) for module in firsts}
    outer = layout.head or layout.embedding
    if outer in layers and model.get_output_embeddings() is not None:
        seen[outer] = model.get_output_embeddings()
    sums: dict[str, torch.Tensor] = {}
    tokens: Counter[str] = Counter()

    def watch(layer: str) -> Any:
        def see(module: Any, given: tuple[Any, ...]) -> None:
            rows = given[0].reshape(-1, given[0].shape[-1]).float()
            squares = rows.square().sum(0)
            sums[layer] = sums[layer] + squares if layer in sums else squares
            tokens[layer] += len(rows)

        return see

    handles = [one.register_forward_pre_hook(watch(layer)) for layer, one in seen.items()]
    try:
        with torch.no_grad():
            for done, row in enumerate(windows, start=1):
                model(input_ids=row[None], use_cache=False)
                report.progress("importance", done, len(windows), "windows")
    finally:
        for handle in handles:
            handle.remove()
    found = {
        layer: (total / tokens[layer]).cpu().numpy()
        for layer, total in sums.items()
        if tokens[layer] > 0
    }
    for layer, stack in stacks.items():
        known = [found.pop(own[0], None) for own in stack]
        told = [one for one in known if one is not None]
        if told:
            usual = np.mean(told, axis=0)
            found[layer] = np.stack([usual if one is None else one for one in known])
    if layout.head is None and layout.embedding in found:
        found[layout.embedding] += LOOKUPS * found[layout.embedding].mean()
    return found
