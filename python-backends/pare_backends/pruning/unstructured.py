"""What the methods share that make single weights of the linear layers zero: which places a pattern
leaves, what is refused before any work, and how the result is stored."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pare_backends.checkpoint import BitmaskTensor, Checkpoint
from pare_backends.checkpoint.forms.floats import half
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context

PATTERNS = {"2:4": (2, 4), "4:8": (4, 8)}
"""(weights kept, of so many), by the pattern's name."""
STORED_AS = ("bitmask", "dense")
ZEROS_OF_PRUNING = 0.05
"""From this share of exact zeros on a matrix was pruned: of a trained one, hardly any is zero."""


def check_layers(
    checkpoint: Checkpoint, context: Context, sparsity: float, pattern: str, spread: str | None
) -> None:
    """Raises, before any work, where the linear layers of this checkpoint cannot be pruned so.

    spread: in words, a share that is not the same in every layer; None: it is
    """
    layers = context.layout.linear
    checkpoint.check_replaceable(layers)
    if context.layout.problems:
        raise CallFailure(
            "invalid", f"Cannot prune this model's linear layers: {context.layout.problems[0]}"
        )
    if pattern not in PATTERNS:
        check_more(checkpoint, sparsity)
        return
    kept, width = PATTERNS[pattern]
    if spread is not None or sparsity != 1 - kept / width:
        asked = f"a sparsity of {sparsity}" + ("" if spread is None else f" and {spread}")
        raise CallFailure(
            "invalid",
            f"Cannot prune {pattern} at {asked}: the pattern leaves {1 - kept / width} in every"
            " layer",
            hint=f"Take a sparsity of {1 - kept / width} in every layer, or no pattern",
        )
    for layer in layers:
        columns = checkpoint.shape(layer)[0 if layer in context.layout.transposed else 1]
        if columns % width != 0:
            raise CallFailure(
                "invalid",
                f"Cannot prune {layer} {pattern}: {width} does not divide its rows of"
                f" {columns} weights",
                hint="Choose the pattern unstructured",
            )


def check_more(checkpoint: Checkpoint, sparsity: float) -> None:
    """Raises where an earlier step has made as many zeros already."""
    pruned = checkpoint.in_form(BitmaskTensor).values()
    weights = sum(one.size for one in pruned)
    zeros = weights - sum(int(one.values.size) for one in pruned)
    if weights > 0 and zeros >= round(sparsity * weights):
        raise CallFailure(
            "invalid",
            f"Cannot prune to a sparsity of {sparsity}: {zeros / weights:.3g} of the weights are"
            " zero already",
            hint="A further step's share counts all zeros: take more than there are",
        )


def stored(
    checkpoint: Checkpoint, weights: Mapping[str, np.ndarray], stored_as: str, context: Context
) -> Checkpoint:
    """The checkpoint with these weights, without their zeros or as plain floats; tells the share of
    zeros of each layer.

    weights: by layer, as the model holds them
    """
    for layer, values in weights.items():
        zeros = values.size - int(np.count_nonzero(half(values)))
        context.figure("sparsity", zeros / values.size, layer=layer)
    if stored_as == "dense":
        return checkpoint.with_floats({f"{layer}.weight": w for layer, w in weights.items()})
    return checkpoint.with_stored({layer: BitmaskTensor.of(w) for layer, w in weights.items()})
