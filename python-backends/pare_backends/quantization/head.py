"""The embedding and the output head on a grid, by what the head is given.

A head is one more linear layer: its inputs weigh its errors. Where the embedding is the head too,
lookups weigh all columns alike, which is added; an embedding alone is rounded to nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Inputs
from pare_backends.quantization.folding.statistics import InputStatistics, gather, read_statistics

if TYPE_CHECKING:
    import torch

LOOKUPS = 0.1
"""What lookups add to a shared embedding's second moments, as a share of their mean.

KL on WikiText-2 (12 windows) of SmolLM2-135M with its embedding alone in groups of 64, at 4 bits:
rounded to nearest with the clip 0.227 (lookups alone 0.031, the head alone 0.197), by GPTQ with
nothing added 0.076, with 0.1 0.071, with 1 0.074, with 10 0.105; at 3 bits 1.36, and 0.31, 0.26,
0.31, 0.49."""

RoundHead = Callable[[str, np.ndarray, InputStatistics], GridTensor]
"""(layer, (out, in) float32 weights, statistics of its inputs) -> the rounded layer."""
RoundTable = Callable[[str, np.ndarray], GridTensor]


def head_statistics(model: Any, windows: torch.Tensor) -> InputStatistics | None:
    """What the output head is given on these windows; None where the model has no head.

    windows: (n, tokens) int64
    """
    import torch

    head = model.get_output_embeddings()
    if head is None:
        return None
    sums, tokens = None, 0

    def see(module: Any, given: tuple[Any, ...]) -> None:
        nonlocal sums, tokens
        sums, tokens = gather(module, given[0], sums, tokens)

    handle = head.register_forward_pre_hook(see)
    try:
        with torch.no_grad():
            for row in windows.to(head.weight.device):
                model(input_ids=row[None], use_cache=False)
    finally:
        handle.remove()
    return read_statistics(Inputs(sums, tokens))


def with_lookups(statistics: InputStatistics) -> InputStatistics:
    """The statistics of a head whose weights are looked up, too."""
    products = statistics.products.clone()
    products.diagonal().add_(LOOKUPS * products.diagonal().mean())
    return replace(statistics, products=products)


def round_outer(
    checkpoint: Checkpoint,
    context: Context,
    model: Any,
    windows: torch.Tensor,
    round_head: RoundHead,
    round_table: RoundTable,
) -> dict[str, GridTensor]:
    """The layers of the target `embedding`: the head, or the embedding that is one, by its inputs
    in `model`, as it is by now; an embedding alone by its weights."""
    layout = context.layout
    statistics = head_statistics(model, windows)
    if statistics is not None and layout.head is None:
        statistics = with_lookups(statistics)
    tensors = {}
    for layer in layout.part("embedding"):
        weight = context.matrix(checkpoint, layer)
        is_head = layer == (layout.head or layout.embedding)
        if is_head and statistics is not None:
            made = round_head(layer, weight, statistics)
        else:
            made = round_table(layer, weight)
        tensors[layer] = context.in_place(layer, made)
    return tensors
