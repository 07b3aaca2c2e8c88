"""Round-to-nearest weight quantization: no calibration data, one pass over the weights."""

from __future__ import annotations

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.each_layer import round_each
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
    own = (params.bits, params.group_size, params.symmetric, params.clip)
    threads = context.report.threads
    return round_each(
        checkpoint,
        context,
        layers,
        lambda layer, weights: round_matrix(layer, weights, *own, threads=threads),
    )
