"""Round-to-nearest weight quantization: no calibration data, one pass over the weights."""

from __future__ import annotations

from dataclasses import dataclass

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import choice, flag
from pare_backends.methods.context import Context
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.rounding import round_matrix

GROUP_SIZES = (-1, 16, 32, 48, 64, 96, 128, 192, 256)


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/quantization/rtn.ts."""

    bits: int = choice(4, choices=(2, 3, 4, 8), unit="bits per weight")
    group_size: int = choice(64, choices=GROUP_SIZES, unit="weights a scale, -1 = whole row")
    symmetric: bool = flag(True)
    clip: bool = flag(False)
    targets: str = choice(
        "linear", choices=("linear", "embedding", "all"), unit="part of the model"
    )


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds every matrix of the chosen part by itself."""
    layers = context.layout.part(params.targets)
    check_layers(checkpoint, context.layout, layers, params.group_size)
    tensors = {}
    with context.report.span("quantize"):
        for done, layer in enumerate(layers, start=1):
            tensor = round_matrix(
                layer,
                context.matrix(checkpoint, layer),
                params.bits,
                params.group_size,
                params.symmetric,
                params.clip,
                threads=context.report.threads,
            )
            tensors[layer] = context.in_place(layer, tensor)
            context.report.progress("round", done, len(layers), "layers")
    return checkpoint.with_stored(tensors)
