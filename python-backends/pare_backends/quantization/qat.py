"""Quantization-aware training: steps of AdamW on weights that the model meets rounded, by the
straight-through estimator, towards what the unrounded model answers; then the grid itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.finetuning.factors import kept_weights
from pare_backends.finetuning.tuning import tune
from pare_backends.finetuning.whole_weights import parameter_names
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.correction.straight_through import Grid, grid_of
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.training.knobs import TrainingKnobs

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params(TrainingKnobs):
    """Knobs, as plugins/quantization/qat.ts declares them."""

    bits: int
    group_size: int
    symmetric: bool
    clip: bool
    targets: str
    qat_loss: str
    lr: float


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The matrices of the chosen part on a grid, trained to stand there."""
    layers = context.layout.part(params.targets)
    check_layers(checkpoint, context.layout, layers, params.group_size)
    if checkpoint.adapter is not None or context.layout.experts:
        why = "an adapter lies beside its weights" if checkpoint.adapter else "it has experts"
        raise CallFailure("invalid", f"Cannot train this model as it is rounded: {why}")
    model, _ = context.load(checkpoint)
    files = parameter_names(checkpoint, model)
    names = {layer: files[f"{layer}.weight"] for layer in layers}
    kept = kept_weights(checkpoint, layers, context)
    grids: dict[str, Grid] = {}
    for layer, name in names.items():
        grid = grid_of(
            layer,
            context.matrix(checkpoint, layer),
            *(params.bits, params.group_size, params.symmetric, params.clip),
            transposed=layer in context.layout.transposed,
            kept=kept.get(layer),
        )
        device = model.get_parameter(name).device
        mask = None if grid.kept is None else grid.kept.to(device)
        grids[name] = replace(grid, shares=grid.shares.to(device), kept=mask)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in grids)
    loss = RoundedLoss(grids, frozen(model, grids) if params.qat_loss == "kl" else None)
    tune("QAT", model, params, context, loss)
    return checkpoint.with_stored(
        {layer: grids[name].tensor(model.get_parameter(name)) for layer, name in names.items()}
    )


def frozen(model: Any, grids: Mapping[str, Grid]) -> dict[str, torch.Tensor]:
    """The weights as they came: with these the model is its own teacher."""
    return {name: model.get_parameter(name).detach().clone() for name in grids}


@dataclass(frozen=True)
class RoundedLoss:
    """A `LossOf` of training/loop.py: of the model with its weights rounded."""

    grids: Mapping[str, Grid]  # by parameter
    original: Mapping[str, torch.Tensor] | None  # by parameter; None: the text's next tokens count

    def __call__(
        self, model: Any, batch: torch.Tensor, indices: Sequence[int]
    ) -> tuple[torch.Tensor, Mapping[str, float]]:
        """In nats per token: the KL divergence from what the unrounded model says, or the next
        token's cross entropy. batch: (windows, tokens) int64"""
        import torch
        from torch.func import functional_call
        from torch.nn.functional import kl_div

        rounded = {n: grid.rounded(model.get_parameter(n)) for n, grid in self.grids.items()}
        given = {"input_ids": batch, "use_cache": False}
        if self.original is None:
            said = functional_call(model, rounded, (), {**given, "labels": batch})
            return said.loss, {}
        with torch.no_grad():
            truth = functional_call(model, dict(self.original), (), given).logits.log_softmax(-1)
        guess = functional_call(model, rounded, (), given).logits.log_softmax(-1)
        divergence = kl_div(guess, truth, reduction="sum", log_target=True)
        return divergence / batch.numel(), {}
