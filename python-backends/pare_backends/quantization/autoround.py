"""AutoRound by auto-round: learns how each weight is rounded and each group is clipped, block by
block, by the sign of the gradient (arXiv 2309.05516)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.layer_checks import check_layers, check_sides
from pare_backends.quantization.libraries.extract import grid_tensor

BATCH = 4
SIDES = 32
"""What must divide both sides of a layer, by auto-round's own rule (layer_config_resolver.py)."""
OWN_TOKENS = "AutoRound learns each expert's rounding from the tokens that are sent to it"


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/autoround.ts declares them."""

    bits: int
    group_size: int
    symmetric: bool
    iters: int
    samples: int
    lr: float
    seqlen: int


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Quantizes the linear layers of the decoder's blocks."""
    layers = context.layout.linear
    check_layers(checkpoint, context.layout, layers, params.group_size)
    check_sides(checkpoint, layers, SIDES, "auto-round")
    windows = context.calibration(params.samples, params.seqlen).contiguous()
    model, tokenizer = context.load_linear(checkpoint)
    with context.report.span("quantize", library=True):
        model = tune(model, tokenizer, windows, params, context)
    with context.report.span("extract"):
        tensors = {layer: read_layer(model, layer, params, context) for layer in layers}
    return checkpoint.with_stored(tensors)


def tune(
    model: Any,
    tokenizer: Any,
    windows: Any,
    params: Params,
    context: Context,
    grids: Mapping[str, Mapping[str, Any]] | None = None,
) -> Any:
    """auto-round's own tuning; leaves scales and rounded weights on the modules.

    grids: bits, group_size and sym of modules that have others than the params, by name
    """
    import torch
    from auto_round import AutoRound
    from torch.utils.data import DataLoader

    from pare_backends.quantization.libraries.freeze import frozen_garbage
    from pare_backends.quantization.libraries.routed import count_routed, routed_note
    from pare_backends.quantization.libraries.watch import watch_blocks

    if getattr(model.config.get_text_config(), "altup_num_inputs", None):
        raise CallFailure(
            "invalid",
            f"Cannot tune {type(model).__name__} with auto-round: its blocks hand on four streams"
            " of a text, whose number auto-round takes for that of the texts",
            hint="Take gptq or awq",
        )
    rows: Any = [{"input_ids": row, "attention_mask": torch.ones_like(row)} for row in windows]
    batch = min(BATCH, len(rows))
    compressor = AutoRound(
        model,
        tokenizer=tokenizer,
        scheme="W4A16",
        bits=params.bits,
        group_size=params.group_size,
        sym=params.symmetric,
        layer_config={name: dict(grid) for name, grid in (grids or {}).items()},
        iters=params.iters,
        lr=params.lr,
        nsamples=len(rows),
        seqlen=int(windows.shape[1]),
        batch_size=batch,
        dataset=DataLoader(rows, batch_size=batch),
        device_map="cuda" if torch.cuda.is_available() else "cpu",
        amp=False,  # bf16 is slower than float32 on most CPUs, and its weights leave their grid
        enable_torch_compile=False,
        low_cpu_mem_usage=False,
        seed=context.seed,
    )
    calls = params.iters + 2 * -(-len(rows) // batch)
    progress = watch_blocks(model, context.report, "autoround", calls_a_block=calls)
    routed = count_routed(model, -(-len(rows) // batch))
    with frozen_garbage(), progress, routed as counts:
        tuned, _ = compressor.quantize()
    context.notes.extend(routed_note(counts, windows.numel(), OWN_TOKENS))
    return tuned


def read_layer(model: Any, layer: str, params: Params, context: Context) -> GridTensor:
    """One layer's integers and scales; auto-round counts its integers from 0."""
    import torch

    module = model.get_submodule(context.layout.modules[layer])
    if not hasattr(module, "scale"):
        raise CallFailure("crash", f"Cannot read {layer}: auto-round left it unquantized")
    offset = 2 ** (params.bits - 1)
    zeros = None
    if not params.symmetric:
        zeros = torch.as_tensor(module.zp).float() - offset
    tensor = grid_tensor(layer, module.weight, module.scale, zeros, params.bits, params.group_size)
    return context.in_place(layer, tensor)
