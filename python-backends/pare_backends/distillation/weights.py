"""All of a student's float weights, as they are trained and put back into its checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from pare_backends.checkpoint import BitmaskTensor, Checkpoint
from pare_backends.checkpoint.file_names import filled_parameters
from pare_backends.failures import StageFailure
from pare_backends.finetuning.factors import kept_weights
from pare_backends.methods.context import Context

TRAINED = ("linear", "embedding", "head", "norm")
"""Roles of the tensors that are trained."""


def check_floats(checkpoint: Checkpoint, context: Context) -> None:
    """Raises, before any work, where the parent's weights cannot all be trained and stored as they
    were: integers on a grid, an adapter beside them, experts in one tensor."""
    layout = context.layout
    if layout.problems or layout.experts:
        why = layout.problems[0] if layout.problems else "some are a mixture's experts"
        raise StageFailure("invalid", f"Cannot train this model's weights: {why}")
    checkpoint.check_replaceable({*layout.linear, *checkpoint.stored})


def open_weights(model: Any, checkpoint: Checkpoint, context: Context) -> None:
    """Lets all matrices and norms be trained, but what pruning made zero; biases and positions stay
    as they are."""
    import torch

    names = [*checkpoint.floats, *(f"{layer}.weight" for layer in checkpoint.stored)]
    places = filled_parameters(model, names)
    opened = {p.parameter for name, p in places.items() if context.layout.role(name) in TRAINED}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in opened)
    for layer, mask in kept_weights(checkpoint, context.layout.linear, context).items():
        own = mask.T if layer in context.layout.transposed else mask
        kept = torch.from_numpy(np.ascontiguousarray(own, dtype=np.float32))
        parameter = model.get_submodule(context.layout.modules[layer]).weight
        parameter.register_hook(lambda gradient, kept=kept: gradient * kept.to(gradient.device))


def with_trained(checkpoint: Checkpoint, model: Any) -> Checkpoint:
    """The checkpoint with the model's weights, each in the form that it was stored in."""
    trained = {name: p.detach().cpu().numpy() for name, p in model.named_parameters()}
    masked = checkpoint.in_form(BitmaskTensor)
    names = [*checkpoint.floats, *(f"{layer}.weight" for layer in masked)]
    places = filled_parameters(model, names)
    values = {name: trained[place.parameter] for name, place in places.items()}
    pruned = {
        layer: BitmaskTensor.of(np.where(tensor.kept(), values.pop(f"{layer}.weight"), 0))
        for layer, tensor in masked.items()
    }
    return checkpoint.with_floats(values).with_stored(pruned)
