"""Which layers can be encoded, and cut into blocks of weights that lie side by side in a row."""

from __future__ import annotations

from collections.abc import Collection

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context


def matrix_shape(checkpoint: Checkpoint, context: Context, layer: str) -> tuple[int, int]:
    """(out, in) of a layer, however the model holds it."""
    rows, columns = checkpoint.shape(layer)
    return (columns, rows) if layer in context.layout.transposed else (rows, columns)


def check_encodable(checkpoint: Checkpoint, context: Context, layers: Collection[str]) -> None:
    """Raises, before any work, where one of the layers cannot be put into another form."""
    checkpoint.check_replaceable(layers)
    if context.layout.problems and set(layers) & set(context.layout.linear):
        raise CallFailure(
            "invalid", f"Cannot encode this model's linear layers: {context.layout.problems[0]}"
        )


def check_layers(checkpoint: Checkpoint, context: Context, block: int) -> None:
    """The same for the linear layers, cut into blocks of so many weights."""
    layers = context.layout.linear
    check_encodable(checkpoint, context, layers)
    for layer in layers:
        columns = matrix_shape(checkpoint, context, layer)[1]
        if columns % block != 0:
            raise CallFailure(
                "invalid",
                f"Cannot encode {layer} in blocks of {block}: they must divide the row's {columns}"
                " weights",
                hint="Choose blocks that divide every row",
            )
