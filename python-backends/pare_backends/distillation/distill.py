"""Knowledge distillation (Hinton et al. 2015, arXiv 1503.02531): what a chain has made of the
original so far learns the original's next-token distributions.

The student is the parent: pruned, narrowed or shallower, initialised from the teacher by whatever
cut it; or a smaller model of the same tokenizer that the user named. Own code, for what trl's
GKDTrainer (1.16, in `trl.experimental`) does not do: it keeps the teacher in memory beside the
student and asks it anew at every step, its temperature is that of sampling and not the loss's,
weights that pruning made zero would come back, and a killed run does not come to the same bytes.
The divergences are trl's own to the last digits (a test holds recorded values of its
`generalized_jsd_loss`). Intel Neural Compressor, which names a distillation too, has none since
version 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import Checkpoint, read
from pare_backends.checkpoint.empty_model import load_config
from pare_backends.distillation.divergence import DIVERGENCES, FORWARD
from pare_backends.distillation.loss import DistillationLoss, Mix, layer_map, reward_weights
from pare_backends.distillation.student import check_floats, check_tokenizers
from pare_backends.distillation.teacher import Kept, TeacherRows, teacher_dir, teacher_rows
from pare_backends.failures import StageFailure
from pare_backends.finetuning.factors import (
    adapter_of,
    check_trainable,
    keep_zeros,
    kept_weights,
    tuned_weights,
    with_weights,
    wrap,
)
from pare_backends.finetuning.whole_weights import open_weights, trained_names, with_parameters
from pare_backends.knobs import choice, integer, real
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.training import Schedule, Trained, held_out_loss, hold_out, train
from pare_backends.training.knobs import TrainingKnobs
from pare_backends.training.schedule import steps_of

if TYPE_CHECKING:
    import torch

CHAIN, NAMED = "chain", "named"
ALL, FACTORS, ADAPTER = "all", "factors", "adapter"


@dataclass(frozen=True)
class Params(TrainingKnobs):
    """Knobs; the same as in plugins/distillation/distill.ts."""

    kd_temperature: float = real(2.0, minimum=1.0, maximum=5.0, unit="divisor of the logits")
    kd_share: float = real(0.5, minimum=0.1, maximum=1.0, unit="share of the loss")
    divergence: str = choice(FORWARD, choices=DIVERGENCES, unit="name")
    jsd_beta: float = real(0.5, minimum=0.0, maximum=1.0, unit="share of the teacher")
    hidden_weight: float = real(0.0, minimum=0.0, maximum=1.0, unit="times the distance")
    reward_strength: float = real(0.0, minimum=0.0, maximum=2.0, unit="standard deviations")
    top_k: int = integer(64, minimum=1, maximum=4096, unit="tokens")
    student_from: str = choice(CHAIN, choices=(CHAIN, NAMED), unit="model")
    student_weights: str = choice(ALL, choices=(ALL, FACTORS, ADAPTER), unit="weights")
    rank: int = integer(8, minimum=1, maximum=64, unit="columns of each low-rank factor")
    alpha: int = integer(16, minimum=1, maximum=128, unit="scale of the product, times the rank")
    lr: float = real(1e-4, minimum=1e-6, maximum=5e-3, unit="step of AdamW at its highest")
    steps: int = integer(40, minimum=20, maximum=2000, unit="steps, a batch each")


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The student after its steps: the trained weights in the parent's own forms, or factors beside
    them as an adapter."""
    checkpoint, context = student_of(checkpoint, params, context)
    check(checkpoint, params, context)
    windows, held = hold_out(windows_of(params, context), params.held_out, context)
    mix, kept = terms(params, context)
    answers = teacher_rows(windows if held is None else joined(windows, held), kept, context)
    check_vocabulary(answers, context)
    model, _ = context.load(checkpoint)
    student = opened(model, checkpoint, params, context)
    lessons = answers.part(0, len(windows))
    weights = reward_weights(lessons.likelihoods(), params.reward_strength)
    loss = DistillationLoss(mix, lessons, weights)
    look = None
    if held is not None:
        held_loss = DistillationLoss(mix, answers.part(len(windows), len(answers.paths)))
        look = held_out_loss(held, params.batch, held_loss)
    steps = params.steps
    if params.epochs > 0:
        steps = steps_of(params.epochs, len(windows), params.batch)
    schedule = Schedule(params.lr, steps, params.batch, params.schedule, params.warmup)
    trained = train(student, loss, windows, schedule, context, look)
    tell(params, trained, answers, context)
    return closed(student, checkpoint, params, context)


def student_of(
    checkpoint: Checkpoint, params: Params, context: Context
) -> tuple[Checkpoint, Context]:
    """What is trained, and the context with its directory and layers: the parent, or the smaller
    model that the user named."""
    if params.student_from == CHAIN:
        return checkpoint, context
    directory = context.student_dir
    if directory is None:
        raise StageFailure(
            "bad_input",
            "Cannot distill into a named student: the study names none, or an action before has"
            " changed the model whose place it takes",
            hint="Name one with --student, and let distill be the first action",
        )
    layout = layout_of(directory)
    return read(directory), replace(context, parent_dir=directory, layout=layout)


def windows_of(params: Params, context: Context) -> torch.Tensor:
    """The training windows, (windows, tokens) int64: no more than the steps read, as the teacher is
    asked about each."""
    windows = context.training(params.tokens)
    if params.epochs > 0:
        return windows
    return windows[: params.steps * params.batch + params.held_out]


def check(checkpoint: Checkpoint, params: Params, context: Context) -> None:
    """Raises, before any work, where the parent cannot be trained so, or reads other tokens than
    the teacher."""
    if params.student_weights == ALL:
        check_floats(checkpoint, context)
    else:
        check_trainable(checkpoint, context, merge=params.student_weights == FACTORS)
    check_tokenizers(context.parent_dir, teacher_dir(context))


def terms(params: Params, context: Context) -> tuple[Mix, Kept]:
    """What the loss is made of, and what is to be kept of the teacher for it."""
    matched = params.hidden_weight > 0
    own, theirs = matched_layers(context) if matched else ((), ())
    mix = Mix(
        params.kd_temperature,
        params.kd_share,
        params.divergence,
        params.jsd_beta,
        params.hidden_weight,
        own,
    )
    return mix, Kept(params.top_k, params.kd_temperature, theirs)


def matched_layers(context: Context) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The blocks whose hidden states are matched, of the student and of the teacher.

    raises: StageFailure "invalid" where the widths differ
    """
    student = load_config(context.parent_dir).get_text_config()
    teacher = load_config(teacher_dir(context)).get_text_config()
    if student.hidden_size != teacher.hidden_size:
        raise StageFailure(
            "invalid",
            f"Cannot match hidden states: the student's are {student.hidden_size} wide, the"
            f" teacher's {teacher.hidden_size}",
            hint="Set hidden_weight to 0",
        )
    return layer_map(student.num_hidden_layers, teacher.num_hidden_layers)


def check_vocabulary(answers: TeacherRows, context: Context) -> None:
    """Raises where the teacher speaks of tokens that the student has no place for: models of one
    tokenizer may have more places than it has tokens, and not equally many."""
    student, teacher = (
        int(load_config(directory).get_text_config().vocab_size)
        for directory in (context.parent_dir, teacher_dir(context))
    )
    if student == teacher:
        return
    if answers.largest_id() < student and answers.width() < teacher:
        return
    raise StageFailure(
        "bad_input",
        f"Cannot distill: the teacher's vocabulary has {teacher} places, the student's {student}",
        hint="Take a student with the teacher's own tokenizer and vocabulary",
    )


def joined(windows: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
    """Both, one after the other: the teacher is loaded once."""
    import torch

    return torch.cat((windows, held))


def opened(model: Any, checkpoint: Checkpoint, params: Params, context: Context) -> Any:
    """The student with the weights open that are trained."""
    if params.student_weights == ALL:
        open_weights(model, checkpoint, context)
        return model
    layers = context.layout.linear
    tuned = wrap(model, layers, context, params.rank, params.alpha, dropout=0.0)
    if params.student_weights == FACTORS:
        keep_zeros(tuned, kept_weights(checkpoint, layers, context), context)
    return tuned


def closed(student: Any, checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The checkpoint with what was trained."""
    if params.student_weights == ALL:
        return with_parameters(checkpoint, student, trained_names(student, checkpoint, context))
    if params.student_weights == ADAPTER:
        return replace(checkpoint, adapter=adapter_of(student))
    layers = context.layout.linear
    zeros = kept_weights(checkpoint, layers, context)
    weights = tuned_weights(student, checkpoint, layers, zeros, context)
    return with_weights(checkpoint, weights, context)


def tell(params: Params, trained: Trained, answers: TeacherRows, context: Context) -> None:
    """What was done, in words and as figures."""
    found = len(answers.paths) - answers.computed
    mass = answers.tail_mass()
    context.notes.append(
        f"The student took {trained.steps} steps on windows of {params.tokens} tokens, taught by"
        f" the study's original: {trained.sentence()}. Of the teacher's answers, the"
        f" {params.top_k} most likely tokens and the mass of all others are kept for"
        f" {len(answers.paths)} windows, in {answers.bytes / 1e6:.1f} MB ({found} of them were"
        f" kept before). A divergence over these is a lower bound: {100 * mass:.2g} % of the"
        f" teacher's mass, at temperature {params.kd_temperature:g}, lies in the tail"
    )
    kl = trained.figures["kl"]
    rows = [
        *trained.rows(),
        ("first_kl", kl[0], "nats"),
        ("last_kl", kl[-1], "nats"),
        ("teacher_cache", answers.bytes, "bytes"),
        ("teacher_tail_mass", mass, "1"),
    ]
    for name, value, unit in rows:
        context.figure(name, value, unit)
