"""8-bit integers for weights and activations: weights once for each output channel, activations
by whole tokens, or groups of each token's features, as the model runs. No calibration data.

An embedding is looked up and has no inputs to round; the output head's stay floats, as its logits
are what is compared."""

from __future__ import annotations

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.each_layer import round_each
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.rounding import round_matrix

BITS = 8


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/int8.ts declares them."""

    clip: bool
    activation_group_size: int
    targets: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds every matrix of the chosen part, and declares of linear layers that their inputs are
    to be rounded too."""
    layers = context.layout.part(params.targets)
    linear = frozenset(context.layout.linear)
    inner = [layer for layer in layers if layer in linear]
    check_layers(checkpoint, context.layout, inner, params.activation_group_size)
    check_layers(checkpoint, context.layout, [one for one in layers if one not in linear], -1)

    def rounded(layer: str, weights: np.ndarray) -> GridTensor:
        return round_matrix(
            layer,
            weights,
            BITS,
            -1,
            symmetric=True,
            clip=params.clip,
            activation_bits=BITS if layer in linear else None,
            activation_group_size=params.activation_group_size if layer in linear else -1,
            threads=context.report.threads,
        )

    return round_each(checkpoint, context, layers, rounded)
