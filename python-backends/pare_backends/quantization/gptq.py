"""GPTQ by llm-compressor: rounds column by column and lets the later columns make up for the
error, by the second moments of the layer's inputs (arXiv 2210.17323)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from pare_backends.checkpoint import BitmaskTensor, Checkpoint, GridTensor
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.folding.statistics import InputStatistics
from pare_backends.quantization.head import round_outer
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.layers.columns import moments_of, round_stacked
from pare_backends.quantization.libraries.extract import grid_tensor
from pare_backends.quantization.libraries.zeros import kept_zeros
from pare_backends.quantization.mixing.formats import Format
from pare_backends.quantization.rounding import round_matrix

ALL_EXPERTS = "GPTQ weighs each expert's errors by all tokens of its block, however few are its own"


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/gptq.ts declares them."""

    bits: int
    group_size: int
    symmetric: bool
    dampening: float
    actorder: str
    samples: int
    clip: bool
    targets: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Quantizes the chosen part on the calibration windows: the linear layers block after block,
    then the output head by what it is given behind them."""
    check_layers(checkpoint, context.layout, context.layout.part(params.targets), params.group_size)
    windows = context.calibration(params.samples)
    model, tokenizer = context.load_linear(checkpoint)
    tensors: dict[str, GridTensor] = {}
    if params.targets != "embedding":
        tensors |= round_linear(checkpoint, params, context, (model, tokenizer), windows)
    if params.targets != "linear":
        with context.report.span("head"):
            tensors |= round_outer(
                *(checkpoint, context, model, windows),
                round_head=lambda layer, weight, statistics: round_columns(
                    layer, weight, statistics, params, context.report.threads
                ),
                round_table=lambda layer, weight: round_matrix(
                    *(layer, weight, params.bits, params.group_size, params.symmetric),
                    clip=params.clip,
                    threads=context.report.threads,
                ),
            )
    return checkpoint.with_stored(tensors)


def round_linear(
    checkpoint: Checkpoint,
    params: Params,
    context: Context,
    loaded: tuple[Any, Any],
    windows: Any,
) -> dict[str, GridTensor]:
    """The linear layers by llm-compressor. loaded: model and tokenizer"""
    layers, (model, tokenizer) = context.layout.linear, loaded
    with context.report.span("quantize", library=True):
        modules = [context.layout.modules[layer] for layer in layers]
        alike = scheme(modules, params.bits, params.group_size, params.symmetric, params.clip)
        pruned = checkpoint.in_form(BitmaskTensor)
        with kept_zeros() if pruned else nullcontext():
            run_oneshot(model, tokenizer, windows, [alike], params, context)
    grid = (params.bits, params.group_size, params.symmetric)
    with context.report.span("extract"):
        return {layer: read_layer(model, layer, *grid, context) for layer in layers}


def round_columns(
    layer: str,
    weight: np.ndarray,
    statistics: InputStatistics,
    params: Params,
    threads: int,
) -> GridTensor:
    """One matrix by the same loop, our own: llm-compressor's would untie a head that is the
    embedding. weight: (out, in) float32"""
    import torch

    ordered = params.actorder == "static"
    moments = moments_of(statistics.products, params.dampening, layer, ordered=ordered)
    one = Format(params.bits, params.group_size, params.symmetric)
    made = round_stacked(
        [torch.from_numpy(weight)], moments, [one], layer, threads, clip=params.clip
    )
    return made[0][0][0]


def scheme(
    modules: Sequence[str], bits: int, group_size: int, symmetric: bool, clip: bool
) -> dict[str, Any]:
    """A config group of llm-compressor: how the weights of these modules are rounded."""
    by_group = group_size != -1
    return {
        "targets": list(modules),
        "weights": {
            "num_bits": bits,
            "type": "int",
            "symmetric": symmetric,
            "strategy": "group" if by_group else "channel",
            "group_size": group_size if by_group else None,
            "observer": "memoryless_mse" if clip else "memoryless_minmax",
        },
    }


def run_oneshot(
    model: Any,
    tokenizer: Any,
    windows: Any,
    schemes: Sequence[dict[str, Any]],
    params: Params,
    context: Context,
) -> None:
    """llm-compressor's own calibration; leaves scales and rounded weights on the modules of the
    schemes. Of `params` it takes how columns are gone through."""
    from llmcompressor import oneshot
    from torch.utils.data import DataLoader

    from pare_backends.quantization.libraries.freeze import frozen_garbage
    from pare_backends.quantization.libraries.observed import GPTQModifier
    from pare_backends.quantization.libraries.routed import count_routed, routed_note
    from pare_backends.quantization.libraries.shared_keys import shared_by_window
    from pare_backends.quantization.libraries.watch import watch_blocks

    recipe = GPTQModifier(
        config_groups={f"group_{number}": one for number, one in enumerate(schemes)},
        dampening_frac=params.dampening,
        actorder="static" if params.actorder == "static" else None,
    )
    batches: Any = [
        {"input_ids": row[None], "attention_mask": row.new_ones(row.shape)[None]} for row in windows
    ]
    progress = watch_blocks(model, context.report, "gptq", calls_a_block=2 * len(batches))
    routed = count_routed(model, len(batches))
    shared = shared_by_window(model, len(batches))
    with frozen_garbage(), progress, shared, routed as counts:
        oneshot(
            model=model,
            tokenizer=tokenizer,
            recipe=recipe,
            dataset=DataLoader(batches, batch_size=None),
            num_calibration_samples=len(batches),
            shuffle_calibration_samples=False,
            moe_calibrate_all_experts=True,
        )
    context.notes.extend(routed_note(counts, windows.numel(), ALL_EXPERTS))


def read_layer(
    model: Any, layer: str, bits: int, group_size: int, symmetric: bool, context: Context
) -> GridTensor:
    """One layer's integers and scales."""
    module = model.get_submodule(context.layout.modules[layer])
    zeros = None if symmetric else module.weight_zero_point
    tensor = grid_tensor(layer, module.weight, module.weight_scale, zeros, bits, group_size)
    return context.in_place(layer, tensor)
