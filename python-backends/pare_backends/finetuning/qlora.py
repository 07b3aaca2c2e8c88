"""QLoRA (Dettmers et al. 2023, arXiv 2305.14314): LoRA beside weights that are held in NF4 while it
trains; then the factors are added to the float weights, or kept beside them."""

from __future__ import annotations

import gc
from dataclasses import replace

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.finetuning.factors import (
    adapter_of,
    check_adaptable,
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
    """Knobs, as plugins/finetuning/qlora.ts declares them."""

    rank: int
    alpha: int
    dropout: float
    merge: bool


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The checkpoint with the trained factors in its float weights, or beside them."""
    from pare_backends.finetuning.nf4 import hold_in_nf4

    check_adaptable(checkpoint, context, params.merge)
    layers = context.layout.linear
    if context.layout.transposed or context.layout.own_forward:
        name = min(context.layout.transposed | context.layout.own_forward)
        raise CallFailure(
            "invalid",
            f"Cannot hold {name} in NF4: it is no plain linear layer",
            hint="Take lora, which trains beside the weights as they are",
        )
    kept = kept_weights(checkpoint, layers, context)
    if kept:
        raise CallFailure(
            "invalid",
            f"Cannot hold {min(kept)} in NF4: it is pruned, and NF4 takes four bits of zeros too",
            hint="Take lora, which trains beside the weights as they are",
        )
    model, _ = context.load(checkpoint)
    tuned = wrap(model, layers, context, params.rank, params.alpha, params.dropout)
    bases = [f"base_model.model.{context.layout.modules[layer]}.base_layer" for layer in layers]
    held = hold_in_nf4(tuned, bases)
    gc.collect()
    context.notes.append(f"The linear weights were held in {held / 1e6:.1f} MB of NF4 meanwhile")
    context.figure("nf4_bytes", held, "bytes")
    tune("QLoRA", tuned, params, context)
    if not params.merge:
        return replace(checkpoint, adapter=adapter_of(tuned))
    weights = tuned_weights(tuned, checkpoint, layers, {}, context)
    return with_weights(checkpoint, weights, context)
