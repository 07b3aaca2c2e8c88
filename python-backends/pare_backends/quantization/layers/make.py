"""Every layer in every format, in one pass of the calibration text through the original."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Block, BlockPass, Inputs
from pare_backends.quantization.layers.columns import moments_of, round_stacked
from pare_backends.quantization.layers.store import LayerStore
from pare_backends.quantization.mixing.formats import Format

if TYPE_CHECKING:
    import torch

DAMPENING = 0.01
"""Share of the mean moment that is added to each, as gptq's default."""


def second_moments(module: Any, values: torch.Tensor, sums: Any, windows: int) -> tuple[Any, int]:
    """2 X X^T of the inputs, a window after the other, in float32.

    values: (windows, …, features), or (tokens, features) of an expert
    returns: ((in, in), windows)
    """
    import torch

    so_far = torch.zeros((values.shape[-1],) * 2) if sums is None else sums
    inputs = values.flatten(1, -2) if values.dim() > 2 else values[None]
    for window in inputs.float():
        scaled = math.sqrt(2) * window
        so_far = so_far + scaled.T @ scaled
    return so_far, windows + len(inputs)


def make_layers(
    model: Any,
    wanted: Mapping[str, Sequence[Format]],
    windows: torch.Tensor,
    store: LayerStore,
    context: Context,
) -> int:
    """Puts into the store what it lacks of these formats, block after block; a killed run goes on
    after the last layer that was kept. Layers are made of the original's inputs, whatever the
    others become: any mix of them is one of the model's.

    model: of plain Linears, as `Context.load_linear` gives it; returns: how many were made
    raises: CallFailure of `round_stacked`
    """
    lacks = {
        layer: [one for one in formats if not store.has(layer, one)]
        for layer, formats in wanted.items()
    }
    left = {layer: formats for layer, formats in lacks.items() if formats}
    total = sum(len(formats) for formats in left.values())
    if total == 0:
        return 0
    done = 0

    def change(block: Block, seen: Mapping[str, Inputs]) -> bool:
        nonlocal done
        for layers in sharing(block.layers, left, seen):
            make_stack(model, layers, left[layers[0]], seen[layers[0]], store, context)
            done += sum(len(left[layer]) for layer in layers)
            context.report.progress("layers", done, total, "layers in a format")
        return False  # the block stays as it is: the next one meets the original's outputs

    whole = {layer: context.layout.modules[layer] for layer in left}
    with context.report.span("layers"):
        BlockPass(model, whole, second_moments).run(windows, change)
    return total


def sharing(
    layers: Sequence[str], left: Mapping[str, Sequence[Format]], seen: Mapping[str, Inputs]
) -> list[list[str]]:
    """Layers of a block that are given the same input and lack the same formats, together."""
    found: dict[tuple[int, tuple[Format, ...]], list[str]] = {}
    for layer in layers:
        found.setdefault((id(seen[layer]), tuple(left[layer])), []).append(layer)
    return list(found.values())


def make_stack(
    model: Any,
    layers: Sequence[str],
    formats: Sequence[Format],
    seen: Inputs,
    store: LayerStore,
    context: Context,
) -> None:
    """These layers in these formats, in one loop over the columns."""
    import torch

    weights = [
        model.get_submodule(context.layout.modules[layer]).weight.detach().float()
        for layer in layers
    ]
    hessian = seen.sums / max(seen.windows, 1)
    moments = moments_of(hessian, DAMPENING, layers[0])
    with one_torch_thread():
        made = round_stacked(weights, moments, formats, layers[0], context.report.threads)
    for layer, weight, of in zip(layers, weights, made, strict=True):
        whole = float(((weight @ hessian) * weight).sum(dtype=torch.float64))
        for one, (tensor, error) in zip(formats, of, strict=True):
            store.keep(layer, one, tensor, error / whole if whole > 0 else 0.0)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Within, torch computes with one thread a call: stacks run beside one another, and what they
    give does not depend on how many threads there are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
