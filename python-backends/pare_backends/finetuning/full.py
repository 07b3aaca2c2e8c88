"""Full fine-tuning: trains all matrices, embeddings and norms of a small model on text."""

from __future__ import annotations

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.finetuning.factors import check_trainable
from pare_backends.finetuning.tuning import tune
from pare_backends.finetuning.whole_weights import open_weights, trained_names, with_parameters
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.training.knobs import TrainingKnobs

MOST_PARAMETERS = 500_000_000
"""Above this a step's gradients and moments take more memory than the models that pare is for have
beside them: low-rank factors are the way then. The same as in plugins/finetuning/full.ts."""


@declared_knobs
class Params(TrainingKnobs):
    """Knobs, as plugins/finetuning/full.ts declares them."""

    lr: float


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The checkpoint with its weights trained; what pruning made zero stays zero."""
    check_trainable(checkpoint, context, merge=True)
    checkpoint.check_replaceable([n for n in context.layout.part("all") if n in checkpoint.stored])
    model, _ = context.load(checkpoint)
    count = sum(parameter.numel() for parameter in model.parameters())
    if count > MOST_PARAMETERS:
        raise CallFailure(
            "invalid",
            f"Cannot train all {count:,} weights: full fine-tuning takes at most"
            f" {MOST_PARAMETERS:,}",
            hint="Take lora, which trains a few factors beside them",
        )
    open_weights(model, checkpoint, context)
    tune("Full fine-tuning", model, params, context)
    return with_parameters(checkpoint, model, trained_names(model, checkpoint, context))
