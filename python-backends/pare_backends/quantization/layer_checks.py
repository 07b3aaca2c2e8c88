"""Whether layers can be rounded, said before any heavy work."""

from __future__ import annotations

from collections.abc import Sequence

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.models.layout import Layout


def check_layers(
    checkpoint: Checkpoint, layout: Layout, layers: Sequence[str], group_size: int
) -> None:
    """Raises where the layers cannot be quantized so: one of them is
    already, cannot be packed, or has rows that the groups do not divide."""
    check_untouched(checkpoint, layers)
    taken = set(layout.stacks) <= set(layers) if layout.stacks else not layout.problems
    if not taken and set(layers) & set(layout.linear):
        raise CallFailure(
            "invalid",
            f"Cannot quantize this model's linear layers: {layout.problems[0]}",
            hint="Choose the embedding as target, or another model",
        )
    check_groups(checkpoint, layout, layers, group_size)


def check_sides(checkpoint: Checkpoint, layers: Sequence[str], multiple: int, library: str) -> None:
    """Raises where a library would leave a layer as it is, since a side is no multiple."""
    for layer in layers:
        shape = checkpoint.shape(layer)
        if any(side % multiple for side in shape):
            raise CallFailure(
                "invalid",
                f"Cannot quantize {layer} by {library}: it is {shape[0]} by {shape[1]}, and"
                f" {library} leaves layers alone whose sides {multiple} does not divide",
                hint="Take gptq, which rounds layers of every shape",
            )


def check_untouched(checkpoint: Checkpoint, layers: Sequence[str]) -> None:
    """Raises where the parent holds one of the layers quantized. A pruned one is rounded as it
    stands: its zeros are points of every grid."""
    stored = checkpoint.stored
    twice = [n for n in layers if n in stored and not stored[n].REPLACEABLE]
    if twice:
        raise CallFailure(
            "invalid",
            f"Cannot quantize {twice[0]}: it is {stored[twice[0]].STATE} already in the"
            f" parent ({len(twice)} of {len(layers)} layers are)",
            hint="Start from the baseline, or choose other targets",
        )


def check_groups(
    checkpoint: Checkpoint, layout: Layout, layers: Sequence[str], group_size: int
) -> None:
    """Raises where a group size does not divide a row."""
    if group_size == -1:
        return
    for layer in layers:
        shape = checkpoint.shape(layer)
        columns = shape[0 if layer in layout.transposed else -1]
        if columns % group_size != 0:
            raise CallFailure(
                "invalid",
                f"Cannot quantize {layer} in groups of {group_size}: it must divide the row's"
                f" {columns} weights",
                hint="Choose a group size that divides every row, or -1 for the whole row",
            )
