"""One layer in another format, everything else as it was: what it is given, and what it loses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import GridTensor, StoredTensor
from pare_backends.checkpoint.load import round_inputs
from pare_backends.models.layout import Layout

if TYPE_CHECKING:
    import torch


def input_group(tensor: StoredTensor) -> int | None:
    """Features of a layer's input that share a scale, -1: all; None: its inputs stay floats."""
    if isinstance(tensor, GridTensor) and tensor.activation_bits is not None:
        return tensor.activation_group_size
    return None


@dataclass(frozen=True)
class Inputs:
    """What a layer is given, window by window: an expert, maybe nothing."""

    values: Sequence[Any]
    first: str  # the layer that is given the same before all others


@contextmanager
def taking(model: Any, layout: Layout, taken: Mapping[str, list[Any]]) -> Iterator[None]:
    """Within, what these layers are given is added to their lists."""

    def taker(layer: str) -> Any:
        return lambda module, arguments: taken[layer].append(arguments[0])

    handles = [
        model.get_submodule(layout.modules[layer]).register_forward_pre_hook(taker(layer))
        for layer in taken
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def swapped(module: Any, weight: torch.Tensor, group: int | None) -> Iterator[None]:
    """Within, a layer computes with another weight, its inputs rounded where there is a group."""
    original = module.weight.data
    handle = None
    if group is not None:
        handle = module.register_forward_pre_hook(
            lambda module, given: (rounded(given[0], group), *given[1:])
        )
    module.weight.data = weight
    try:
        yield
    finally:
        module.weight.data = original
        if handle is not None:
            handle.remove()


def rounded(inputs: torch.Tensor, group_size: int) -> torch.Tensor:
    """A layer's inputs in 8 bits; token ids, which an embedding is given, as they are."""
    return round_inputs(inputs, group_size) if inputs.is_floating_point() else inputs


def reconstruction(
    weight: torch.Tensor, other: torch.Tensor, group: int | None, inputs: Sequence[Any]
) -> tuple[float, None, int] | None:
    """Squared error of a layer's outputs over their square; of an embedding, of the rows that are
    looked up. None where the layer saw no token, as an expert may, or gives zeros alone."""
    import torch

    lost = whole = 0.0
    n = 0
    with torch.no_grad():
        for given in inputs:
            if given.is_floating_point():
                rows = given.reshape(-1, given.shape[-1])
                kept = rows if group is None else rounded(rows, group)
                before, after = rows @ weight.T, kept @ other.T
            else:
                before, after = weight[given.reshape(-1)], other[given.reshape(-1)]
            lost += float((after - before).double().square().sum())
            whole += float(before.double().square().sum())
            n += len(before)
    return (lost / whole, None, n) if whole > 0 else None


def standard_error(values: torch.Tensor) -> float | None:
    """Of the mean; None of a single value."""
    return float(values.std() / math.sqrt(len(values))) if len(values) > 1 else None
