"""Full fine-tuning: trains all matrices, embeddings and norms of a small model on text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import BitmaskTensor, Checkpoint
from pare_backends.checkpoint.file_names import filled_parameters, stored_names
from pare_backends.failures import StageFailure
from pare_backends.finetuning.factors import check_trainable, checked, kept_weights
from pare_backends.finetuning.tuning import tune
from pare_backends.knobs import choice, integer, real
from pare_backends.methods.context import Context
from pare_backends.training.schedule import SHAPES

if TYPE_CHECKING:
    import torch

MOST_PARAMETERS = 500_000_000
"""Above this a step's gradients and moments take more memory than the models that pare is for have
beside them: low-rank factors are the way then. The same as in plugins/finetuning/full.ts."""

TRAINED_ROLES = ("linear", "embedding", "head", "norm")
"""Biases stay: they are few, and one near zero could not tell a sound file from a broken one."""


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/finetuning/full.ts."""

    lr: float = real(2e-5, minimum=1e-6, maximum=1e-3, unit="step of AdamW at its highest")
    steps: int = integer(20, minimum=20, maximum=2000, unit="steps, a batch each")
    epochs: int = integer(0, minimum=0, maximum=10, unit="times that every window is read")
    batch: int = integer(1, minimum=1, maximum=16, unit="windows a step")
    schedule: str = choice("linear", choices=SHAPES, unit="name")
    warmup: float = real(0.0, minimum=0.0, maximum=0.5, unit="share of the steps")
    tokens: int = integer(256, minimum=16, maximum=2048, unit="tokens of a window")
    held_out: int = integer(4, minimum=0, maximum=64, unit="windows")


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The checkpoint with its weights trained; what pruning made zero stays zero."""
    check_trainable(checkpoint, context, merge=True)
    checkpoint.check_replaceable([n for n in context.layout.part("all") if n in checkpoint.stored])
    model, _ = context.load(checkpoint)
    count = sum(parameter.numel() for parameter in model.parameters())
    if count > MOST_PARAMETERS:
        raise StageFailure(
            "invalid",
            f"Cannot train all {count:,} weights: full fine-tuning takes at most"
            f" {MOST_PARAMETERS:,}",
            hint="Take lora, which trains a few factors beside them",
        )
    names = parameter_names(checkpoint, model)
    trained = {n: p for n, p in names.items() if context.layout.role(n) in TRAINED_ROLES}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in trained.values())
    keep_zeros(model, checkpoint, names, context)
    tune("Full fine-tuning", model, params, context)
    return with_parameters(checkpoint, model, trained)


def parameter_names(checkpoint: Checkpoint, model: Any) -> dict[str, str]:
    """The model's parameter by the name of the tensor that files hold of it."""
    tensors = [*checkpoint.floats, *(f"{layer}.weight" for layer in checkpoint.stored)]
    places = filled_parameters(model, stored_names(tensors))
    for name, place in places.items():
        if place.problem is not None or place.expert is not None:
            why = place.problem or "it is one expert's share of a stack"
            raise StageFailure("invalid", f"Cannot train {name}: {why}")
    return {name: place.parameter for name, place in places.items()}


def keep_zeros(model: Any, checkpoint: Checkpoint, names: dict[str, str], context: Context) -> None:
    """Weights of pruned layers that are zero get no gradient."""
    import torch

    def without(mask: torch.Tensor) -> Any:
        return lambda gradient: gradient * mask

    for layer, kept in kept_weights(checkpoint, context.layout.linear, context).items():
        mask = kept.T if layer in context.layout.transposed else kept
        held = torch.from_numpy(np.ascontiguousarray(mask).astype(np.float32))
        model.get_parameter(names[f"{layer}.weight"]).register_hook(without(held))


def with_parameters(checkpoint: Checkpoint, model: Any, names: dict[str, str]) -> Checkpoint:
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
