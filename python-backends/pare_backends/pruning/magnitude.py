"""Magnitude pruning: the weights that are nearest to zero become zero (Han et al. 2015,
arXiv 1506.02626). No calibration data. `N:M` keeps the N largest of every M weights that lie side
by side along the input (Mishra et al. 2021, arXiv 2104.08378)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.forms.floats import half
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.pruning.unstructured import PATTERNS, check_layers, stored

LOW_BITS = 16


@declared_knobs
class Params:
    """Knobs, as plugins/pruning/magnitude.ts declares them."""

    sparsity: float
    pattern: str
    scope: str
    stored_as: str


@dataclass(frozen=True)
class Cut:
    """What is zeroed: magnitudes below the threshold and, of those that equal it, the first."""

    threshold: int  # a magnitude by its bits as an unsigned integer, which order as the numbers do
    ties: int


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Prunes the linear layers, each by itself or all by one threshold."""
    layers = context.layout.linear
    spread = None if params.scope == "layer" else f"the scope {params.scope}"
    check_layers(checkpoint, context, params.sparsity, params.pattern, spread)
    made: dict[str, np.ndarray] = {}
    with context.report.span("prune"):
        shared = None
        if params.scope == "global":
            weights = sum(int(np.prod(checkpoint.shape(layer))) for layer in layers)
            count = zeros_of(params.sparsity, weights)
            shared = cut(lambda: (magnitudes(checkpoint.weight(one)) for one in layers), count)
        for done, layer in enumerate(layers, start=1):
            # The model may hold it as (in, out): patterns run along the input.
            pruned = context.matrix(checkpoint, layer)
            if params.pattern in PATTERNS:
                pruned = keep_pattern(pruned, *PATTERNS[params.pattern])
            elif shared is None:
                count = zeros_of(params.sparsity, pruned.size)
                found = magnitudes(pruned)
                pruned, _ = cut_away(pruned, cut(partial(iter, [found]), count))
            else:
                pruned, taken = cut_away(pruned, shared)
                shared = Cut(shared.threshold, shared.ties - taken)
            turned = layer in context.layout.transposed
            made[layer] = half(pruned.T if turned else pruned)
            context.report.progress("prune", done, len(layers), "layers")
    return stored(checkpoint, made, params.stored_as, context)


def zeros_of(sparsity: float, weights: int) -> int:
    """Zeros that a sparsity asks for."""
    return round(sparsity * weights)


def keep_pattern(weights: np.ndarray, kept: int, width: int) -> np.ndarray:
    """All but the `kept` largest of every `width` weights of a row become zero; of equals the later
    are kept. weights: (o, i) float32; returns: the same shape"""
    groups = weights.reshape(-1, width)
    order = np.argsort(np.abs(groups), axis=1, kind="stable")
    pruned = groups.copy()
    np.put_along_axis(pruned, order[:, : width - kept], 0, axis=1)
    return pruned.reshape(weights.shape)


def magnitudes(weights: np.ndarray) -> np.ndarray:
    """Absolute values by their bits: unsigned integers in the same order. returns: flat uint32"""
    return np.abs(weights.astype(np.float32, copy=False)).reshape(-1).view(np.uint32)


def cut(parts: Callable[[], Iterable[np.ndarray]], count: int) -> Cut:
    """The cut that zeroes exactly the `count` smallest.

    Counted by the upper, then by the lower bits: exact, without sorting or holding the parts.
    parts: gives the magnitudes, once more each time it is called
    """
    upper = np.zeros(1 << LOW_BITS, dtype=np.int64)
    for part in parts():
        upper += np.bincount(part >> LOW_BITS, minlength=len(upper))
    first, before = bin_of(upper, count)
    lower = np.zeros(1 << LOW_BITS, dtype=np.int64)
    for part in parts():
        inside = part[part >> LOW_BITS == first] & ((1 << LOW_BITS) - 1)
        lower += np.bincount(inside, minlength=len(lower))
    second, below = bin_of(lower, count - before)
    return Cut(first << LOW_BITS | second, count - before - below)


def bin_of(counts: np.ndarray, wanted: int) -> tuple[int, int]:
    """(the bin that holds the smallest but `wanted`, what lies in the bins before it)."""
    reached = np.cumsum(counts)
    found = int(np.searchsorted(reached, wanted))
    return found, int(reached[found] - counts[found])


def cut_away(weights: np.ndarray, limit: Cut) -> tuple[np.ndarray, int]:
    """(the weights with those zero that the cut names, how many of its ties were taken)."""
    found = magnitudes(weights)
    gone = found < limit.threshold
    ties = np.flatnonzero(found == limit.threshold)[: limit.ties]
    gone[ties] = True
    return np.where(gone.reshape(weights.shape), np.float32(0), weights), len(ties)
