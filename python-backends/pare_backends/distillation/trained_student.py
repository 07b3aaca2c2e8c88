"""The student of every distillation: what is trained of which model, and what is stored of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import Checkpoint, read
from pare_backends.distillation.student import check_floats, check_tokenizers
from pare_backends.distillation.teacher import teacher_dir
from pare_backends.failures import CallFailure
from pare_backends.finetuning.factors import (
    adapter_of,
    check_adaptable,
    keep_zeros,
    kept_weights,
    tuned_weights,
    with_weights,
    wrap,
)
from pare_backends.finetuning.whole_weights import open_weights, trained_names, with_parameters
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.training import Schedule
from pare_backends.training.knobs import TrainingKnobs
from pare_backends.training.schedule import steps_of

if TYPE_CHECKING:
    import torch

CHAIN, NAMED = "chain", "named"
ALL, FACTORS, ADAPTER = "all", "factors", "adapter"


@dataclass(frozen=True)
class StudentKnobs(TrainingKnobs):
    """Knobs, as plugins/distillation/_student.ts declares them."""

    student_from: str = CHAIN
    student_weights: str = ALL
    rank: int = 8
    alpha: int = 16
    lr: float = 1e-4
    steps: int = 40


def student_of(
    checkpoint: Checkpoint, params: StudentKnobs, context: Context
) -> tuple[Checkpoint, Context]:
    """What is trained, and the context with its directory and layers: the parent, or the smaller
    model that the user named."""
    if params.student_from == CHAIN:
        return checkpoint, context
    directory = context.student_dir
    if directory is None:
        raise CallFailure(
            "bad_input",
            "Cannot distill into a named student: the study names none, or an action before has"
            " changed the model whose place it takes",
            hint="Name one with --student, and let distill be the first action",
        )
    layout = layout_of(directory)
    return read(directory), replace(context, parent_dir=directory, layout=layout)


def check(checkpoint: Checkpoint, params: StudentKnobs, context: Context) -> None:
    """Raises, before any work, where the parent cannot be trained so, or reads other tokens than
    the teacher."""
    if params.student_weights == ALL:
        check_floats(checkpoint, context)
    else:
        check_adaptable(checkpoint, context, merge=params.student_weights == FACTORS)
    check_tokenizers(context.parent_dir, teacher_dir(context))


def opened(model: Any, checkpoint: Checkpoint, params: StudentKnobs, context: Context) -> Any:
    """The student with the weights open that are trained."""
    if params.student_weights == ALL:
        open_weights(model, checkpoint, context)
        return model
    layers = context.layout.linear
    tuned = wrap(model, layers, context, params.rank, params.alpha, dropout=0.0)
    if params.student_weights == FACTORS:
        keep_zeros(tuned, kept_weights(checkpoint, layers, context), context)
    return tuned


def closed(
    student: Any, checkpoint: Checkpoint, params: StudentKnobs, context: Context
) -> Checkpoint:
    """The checkpoint with what was trained."""
    if params.student_weights == ALL:
        return with_parameters(checkpoint, student, trained_names(student, checkpoint, context))
    if params.student_weights == ADAPTER:
        return replace(checkpoint, adapter=adapter_of(student))
    layers = context.layout.linear
    zeros = kept_weights(checkpoint, layers, context)
    weights = tuned_weights(student, checkpoint, layers, zeros, context)
    return with_weights(checkpoint, weights, context)


def schedule_of(params: StudentKnobs, windows: torch.Tensor) -> Schedule:
    """The steps as the knobs have them. windows: (windows, tokens) int64, to train on"""
    steps = params.steps
    if params.epochs > 0:
        steps = steps_of(params.epochs, len(windows), params.batch)
    return Schedule(params.lr, steps, params.batch, params.schedule, params.warmup)
