"""llama.cpp's own quantizer: k-quants and its other blocks, by its mixes of kinds, weighted by how
large the inputs of each column are on calibration text (its importance matrix)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.models.layout import Layout
from pare_backends.progress import Report
from pare_backends.quantization.head import LOOKUPS
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.libraries.llama_quantize import Wanted, quantize_layers
from pare_backends.quantization.mixing.assignment import NONE, named

if TYPE_CHECKING:
    import torch

BLOCK = 32
"""Weights of the smallest block, which every row must be whole ones of."""


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/kquant.ts declares them."""

    block_mix: str
    embedding_blocks: str
    head_blocks: str
    assignment: str
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
    importance: Mapping[str, np.ndarray] = {}
    if params.importance:
        windows = context.calibration(params.samples)
        model, _ = context.load_linear(checkpoint)
        with context.report.span("importance"):
            importance = input_squares(model, context.layout, layers, windows, context.report)
    kinds = {}
    if params.assignment != NONE:
        kinds = named(params.assignment, context.layout.linear)
    wanted = Wanted(
        params.block_mix, params.embedding_blocks, params.head_blocks, kinds, importance
    )
    made = quantize_layers(context, layers, wanted)
    counts = Counter(tensor.kind for tensor in made.values())
    told = ", ".join(f"{count} of {kind}" for kind, count in sorted(counts.items()))
    mix = params.block_mix if params.assignment == NONE else "quantizer"
    context.notes.append(f"llama.cpp's {mix} made these matrices: {told}")
    return checkpoint.with_stored(made)


def chosen_layers(params: Params, layout: Layout) -> tuple[str, ...]:
    """The layers that become blocks."""
    outer = () if params.embedding_blocks == "floats" else (layout.embedding,)
    if layout.head is not None and params.head_blocks != "floats":
        outer = (*outer, layout.head)
    return (*layout.linear, *outer)


def input_squares(
    model: Any, layout: Layout, layers: tuple[str, ...], windows: torch.Tensor, report: Report
) -> dict[str, np.ndarray]:
    """The mean square of every layer's input columns over these windows, as llama.cpp's matrix.

    An embedding that is the head too is looked up besides, where all columns weigh alike: that is
    added as head.py has it. An embedding alone has none.
    windows: (n, tokens) int64; returns: (in,) float32 by layer
    """
    import torch

    modules = {layer: layout.modules[layer] for layer in layers if layer in layout.linear}
    seen = {layer: model.get_submodule(module) for layer, module in modules.items()}
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
    found = {layer: (total / tokens[layer]).numpy() for layer, total in sums.items()}
    if layout.head is None and layout.embedding in found:
        found[layout.embedding] += LOOKUPS * found[layout.embedding].mean()
    return found
