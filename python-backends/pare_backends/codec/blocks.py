"""Blocks of weights that lie side by side in a row: which layers can be cut into them."""

from __future__ import annotations

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import StageFailure
from pare_backends.methods.context import Context


def matrix_shape(checkpoint: Checkpoint, context: Context, layer: str) -> tuple[int, int]:
    """(out, in) of a layer, however the model holds it."""
    rows, columns = checkpoint.shape(layer)
    return (columns, rows) if layer in context.layout.transposed else (rows, columns)


def check_layers(checkpoint: Checkpoint, context: Context, block: int) -> None:
    """Raises, before any work, where the linear layers cannot be cut into blocks of so many."""
    layers = context.layout.linear
    checkpoint.check_replaceable(layers)
    if context.layout.problems:
        raise StageFailure(
            "invalid", f"Cannot encode this model's linear layers: {context.layout.problems[0]}"
        )
    for layer in layers:
        columns = matrix_shape(checkpoint, context, layer)[1]
        if columns % block != 0:
            raise StageFailure(
                "invalid",
                f"Cannot encode {layer} in blocks of {block}: they must divide the row's {columns}"
                " weights",
                hint="Choose blocks that divide every row",
            )
