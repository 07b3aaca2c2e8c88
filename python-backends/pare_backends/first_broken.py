"""The layer whose numbers are the first that are none, and which of its tensors hold such."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

MOST_TOKENS = 512
"""Of what is run once more to find the layer."""

logger = logging.getLogger(__name__)


def is_broken(value: Any) -> bool:
    """Whether a tensor, or one of several, holds NaN or an infinity."""
    if isinstance(value, torch.Tensor):
        return value.is_floating_point() and not bool(torch.isfinite(value).all())
    if isinstance(value, (list, tuple)):
        return any(is_broken(one) for one in value)
    return False


def broken_tensors(tensors: Mapping[str, torch.Tensor] | Iterable[tuple[str, Any]]) -> list[str]:
    """Names of those that hold NaN or an infinity, in their order."""
    pairs = tensors.items() if isinstance(tensors, Mapping) else tensors
    return [name for name, tensor in pairs if is_broken(tensor)]


def first_broken_layer(model: Any, tokens: Sequence[int]) -> str | None:
    """The first layer, in the order of computing, whose output for these tokens holds NaN or an
    infinity though none of its inputs does, as words for a sentence: `model.layers.1.mlp.down_proj,
    whose weight holds NaN or infinities`. None: there is none, or it cannot be looked for."""
    found: list[tuple[str, Any]] = []

    def look(name: str) -> Any:
        def hook(module: Any, inputs: Any, output: Any) -> None:
            if not found and is_broken(output) and not is_broken(inputs):
                found.append((name, module))

        return hook

    hooks = []
    try:
        for name, module in model.named_modules():
            if next(module.children(), None) is None:
                hooks.append(module.register_forward_hook(look(name)))
        with torch.no_grad():
            model(torch.tensor([list(tokens)[-MOST_TOKENS:]], device=model.device))
    except Exception:  # the failure itself is told whatever becomes of this
        logger.exception("cannot look for the first layer that gives no numbers")
    finally:
        for one in hooks:
            one.remove()
    if not found:
        return None
    name, module = found[0]
    own = broken_tensors(module.state_dict())
    held = f", whose {' and '.join(own)} holds NaN or infinities" if own else ""
    return f"{name}{held}"
