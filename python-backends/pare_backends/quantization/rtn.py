"""Round-to-nearest weight quantization: no calibration data, one pass over the weights."""

from __future__ import annotations

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.rounding import round_matrix


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/rtn.ts declares them."""

    bits: int
    group_size: int
    symmetric: bool
    clip: bool
    targets: str


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
