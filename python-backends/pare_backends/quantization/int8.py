"""8-bit integers for weights and activations: weights once for each output channel, activations
per token as the model runs. No calibration data."""

from __future__ import annotations

from dataclasses import dataclass

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import flag
from pare_backends.quantization.context import Context, check_untouched
from pare_backends.quantization.rounding import round_matrix

BITS = 8


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/quantization/int8.ts."""

    clip: bool = flag(False)


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds every linear layer and declares that its inputs are to be rounded too."""
    layers = context.layout.linear
    check_untouched(checkpoint, layers)
    tensors = {}
    with context.report.span("quantize"):
        for done, layer in enumerate(layers, start=1):
            tensors[layer] = round_matrix(
                layer,
                checkpoint.weight(layer),
                BITS,
                -1,
                symmetric=True,
                clip=params.clip,
                activation_bits=BITS,
            )
            context.report.progress("round", done, len(layers), "layers")
    return checkpoint.with_quantized(tensors)
