"""Knowledge distillation (Hinton et al. 2015, arXiv 1503.02531): what a chain has made of the
original so far learns the original's next-token distributions.

The student is the parent: pruned, narrowed or shallower, initialised from the teacher by whatever
cut it; or a smaller model of the same tokenizer that the user named. The teacher's answers are
kept, so that it is never in memory beside the student; what the student writes itself is `gkd`'s.
The divergences are those of trl's `generalized_jsd_loss` to the last digits (a test holds recorded
values of it). Intel Neural Compressor, which names a distillation too, has none since version 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.empty_model import load_config
from pare_backends.distillation.loss import DistillationLoss, Mix, layer_map, reward_weights
from pare_backends.distillation.teacher import Kept, TeacherRows, teacher_dir, teacher_rows
from pare_backends.distillation.trained_student import (
    StudentKnobs,
    check,
    closed,
    opened,
    schedule_of,
    student_of,
)
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.training import Trained, held_out_loss, hold_out, train

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params(StudentKnobs):
    """Knobs, as plugins/distillation/distill.ts declares them."""

    kd_temperature: float
    kd_share: float
    divergence: str
    jsd_beta: float
    hidden_weight: float
    reward_strength: float
    top_k: int


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
    trained = train(student, loss, windows, schedule_of(params, windows), context, look)
    tell(params, trained, answers, context)
    return closed(student, checkpoint, params, context)


def windows_of(params: Params, context: Context) -> torch.Tensor:
    """The training windows, (windows, tokens) int64: no more than the steps read, as the teacher is
    asked about each."""
    windows = context.training(params.tokens)
    if params.epochs > 0:
        return windows
    return windows[: params.steps * params.batch + params.held_out]


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

    raises: CallFailure "invalid" where the widths differ
    """
    student = load_config(context.parent_dir).get_text_config()
    teacher = load_config(teacher_dir(context)).get_text_config()
    if student.hidden_size != teacher.hidden_size:
        raise CallFailure(
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
    raise CallFailure(
        "bad_input",
        f"Cannot distill: the teacher's vocabulary has {teacher} places, the student's {student}",
        hint="Take a student with the teacher's own tokenizer and vocabulary",
    )


def joined(windows: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
    """Both, one after the other: the teacher is loaded once."""
    import torch

    return torch.cat((windows, held))


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
