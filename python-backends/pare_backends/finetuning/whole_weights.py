"""All float weights of a model, as they are trained and put back into its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import BitmaskTensor, Checkpoint
from pare_backends.checkpoint.file_names import filled_parameters, stored_names
from pare_backends.failures import CallFailure
from pare_backends.finetuning.factors import checked, kept_weights
from pare_backends.methods.context import Context

if TYPE_CHECKING:
    import torch

TRAINED_ROLES = ("linear", "embedding", "head", "norm")
"""Biases stay: they are few, and one near zero could not tell a sound file from a broken one."""


def trained_names(model: Any, checkpoint: Checkpoint, context: Context) -> dict[str, str]:
    """The model's parameters that are trained, by the names of the tensors that files hold of
    them."""
    names = parameter_names(checkpoint, model)
    return {n: p for n, p in names.items() if context.layout.role(n) in TRAINED_ROLES}


def open_weights(model: Any, checkpoint: Checkpoint, context: Context) -> None:
    """Lets all matrices and norms be trained, but what pruning made zero."""
    names = trained_names(model, checkpoint, context)
    opened = set(names.values())
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in opened)
    for layer, kept in kept_weights(checkpoint, context.layout.linear, context).items():
        mask = kept.T if layer in context.layout.transposed else kept
        model.get_parameter(names[f"{layer}.weight"]).register_hook(without(mask))


def without(mask: np.ndarray) -> Any:
    """The hook that gives a weight's gradient only where the mask is not zero."""
    import torch

    kept = torch.from_numpy(np.ascontiguousarray(mask, dtype=np.float32))

    def zeroed(gradient: torch.Tensor) -> torch.Tensor:
        return gradient * kept.to(gradient.device)

    return zeroed


def parameter_names(checkpoint: Checkpoint, model: Any) -> dict[str, str]:
    """The model's parameter by the name of the tensor that files hold of it."""
    tensors = [*checkpoint.floats, *(f"{layer}.weight" for layer in checkpoint.stored)]
    places = filled_parameters(model, stored_names(tensors))
    for name, place in places.items():
        if place.problem is not None or place.expert is not None:
            why = place.problem or "it is one expert's share of a stack"
            raise CallFailure("invalid", f"Cannot train {name}: {why}")
    return {name: place.parameter for name, place in places.items()}


def with_parameters(checkpoint: Checkpoint, model: Any, names: Mapping[str, str]) -> Checkpoint:
    """The checkpoint with the model's parameters, in the forms that their tensors are stored in."""
    floats: dict[str, np.ndarray] = {}
    masked: dict[str, BitmaskTensor] = {}
    pruned = checkpoint.in_form(BitmaskTensor)
    for name, parameter in names.items():
        values = checked(model.get_parameter(parameter).detach().cpu().numpy(), name)
        layer = name.removesuffix(".weight")
        if layer in pruned:
            masked[layer] = BitmaskTensor.of(values)
        else:
            floats[name] = values
    return checkpoint.with_floats(floats).with_stored(masked)
