"""Rounds layers one after the other, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.methods.context import Context


def round_each(
    checkpoint: Checkpoint,
    context: Context,
    layers: Sequence[str],
    rounded: Callable[[str, np.ndarray], GridTensor],
) -> Checkpoint:
    """The checkpoint with these layers rounded. rounded: of a layer's name and its (out, in)
    float32 matrix"""
    tensors = {}
    with context.report.span("quantize"):
        for done, layer in enumerate(layers, start=1):
            tensors[layer] = context.in_place(
                layer, rounded(layer, context.matrix(checkpoint, layer))
            )
            context.report.progress("round", done, len(layers), "layers")
    return checkpoint.with_stored(tensors)
