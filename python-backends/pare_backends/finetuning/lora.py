"""LoRA (Hu et al. 2021, arXiv 2106.09685) and DoRA (Liu et al. 2024, arXiv 2402.09353) by peft:
trains a low-rank matrix beside linear layers on windows of text, then adds it to the weights or
keeps it beside them."""

from __future__ import annotations

from dataclasses import replace

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.finetuning.factors import (
    adapter_of,
    check_adaptable,
    chosen_layers,
    keep_zeros,
    kept_weights,
    tuned_weights,
    with_weights,
    wrap,
)
from pare_backends.finetuning.tuning import tune
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.training.knobs import TrainingKnobs


@declared_knobs
class Params(TrainingKnobs):
    """Knobs, as plugins/finetuning/lora.ts declares them."""

    rank: int
    alpha: int
    dropout: float
    dora: bool
    targets: str
    merge: bool


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The checkpoint with the trained matrices in its weights, or beside them as an adapter."""
    check(checkpoint, params, context)
    model, _ = context.load(checkpoint)
    layers = chosen_layers(model, params.targets, context)
    tuned = wrap(
        model, layers, context, params.rank, params.alpha, params.dropout, dora=params.dora
    )
    kept = kept_weights(checkpoint, layers, context) if params.merge else {}
    keep_zeros(tuned, kept, context)
    tune("DoRA" if params.dora else "LoRA", tuned, params, context)
    if not params.merge:
        return replace(checkpoint, adapter=adapter_of(tuned))
    weights = tuned_weights(tuned, checkpoint, layers, kept, context, params.dora)
    return with_weights(checkpoint, weights, context)


def check(checkpoint: Checkpoint, params: Params, context: Context) -> None:
    """Raises, before any work, where the parent cannot be trained so."""
    if params.dora and not params.merge:
        raise CallFailure(
            "invalid",
            "Cannot keep DoRA as an adapter: its magnitudes scale the weights that it lies beside",
            hint="Set merge, or leave dora out",
        )
    check_adaptable(checkpoint, context, params.merge, params.targets)
