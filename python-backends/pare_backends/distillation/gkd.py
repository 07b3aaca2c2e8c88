"""Generalised knowledge distillation (Agarwal et al. 2023, arXiv 2306.13649): a share of the steps
reads what the student itself goes on to write, and the teacher says how it would have gone on.

The arithmetic is trl's (1.16, `trl.experimental.gkd.GKDTrainer`): its functions on tensors for the
divergence and for what the student writes. The steps are those of every method here that trains,
so that zeros stay zero, held-out windows say when to stop, and a killed run comes to the same
bytes, none of which trl's trainer does. The teacher is in memory beside the student: what a
student writes is new to it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.empty_model import load_config
from pare_backends.distillation.loss import beyond_noise
from pare_backends.distillation.teacher import load_teacher, teacher_dir
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

IGNORED = -100
"""The label of a token that does not count, in trl as in transformers."""


@declared_knobs
class Params(StudentKnobs):
    """Knobs, as plugins/distillation/gkd.ts declares them."""

    on_policy: float
    jsd_beta: float
    sampling_temperature: float
    prefix_tokens: int
    max_new_tokens: int


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The student after its steps: the trained weights in the parent's own forms, or factors beside
    them as an adapter."""
    checkpoint, context = student_of(checkpoint, params, context)
    check(checkpoint, params, context)
    check_shapes(params, context)
    windows, held = hold_out(context.training(params.tokens), params.held_out, context)
    check_prompts(params, windows)
    teacher = load_teacher(context).eval().requires_grad_(False)
    model, tokenizer = context.load(checkpoint)
    student = opened(model, checkpoint, params, context)
    written = Writing(params, tokenizer.pad_token_id, model.generation_config.eos_token_id)
    lesson = Lesson(teacher, params.jsd_beta, written)
    look = None
    if held is not None:
        # The same text at every look: what a student writes differs each time.
        look = held_out_loss(held, params.batch, Lesson(teacher, params.jsd_beta, None))
    trained = train(student, lesson, windows, schedule_of(params, windows), context, look)
    tell(params, trained, context)
    return closed(student, checkpoint, params, context)


def check_shapes(params: Params, context: Context) -> None:
    """Raises where the two speak of different tokens: the whole distributions are compared."""
    student, teacher = (
        int(load_config(directory).get_text_config().vocab_size)
        for directory in (context.parent_dir, teacher_dir(context))
    )
    if student != teacher:
        raise CallFailure(
            "bad_input",
            f"Cannot distill: the teacher's vocabulary has {teacher} places, the student's"
            f" {student}",
            hint="Take a student of the teacher's own vocabulary, or distill, which compares the"
            " likeliest tokens alone",
        )


def check_prompts(params: Params, windows: torch.Tensor) -> None:
    """Raises where a window is no longer than the prompt that it is to begin with."""
    tokens = windows.shape[1]
    if params.on_policy > 0 and params.prefix_tokens >= tokens:
        raise CallFailure(
            "invalid",
            f"Cannot let the student go on after {params.prefix_tokens} tokens: the windows have"
            f" {tokens}",
            hint="Lower prefix_tokens, or take longer windows (tokens)",
        )


def library() -> Any:
    """trl's trainer, of which two functions are used, without its word about experiments."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from trl.experimental.gkd import GKDTrainer

    return GKDTrainer


@dataclass(frozen=True)
class Writing:
    """How the student writes."""

    params: Params
    pad: int | None
    eos: int | list[int] | None

    def due(self) -> bool:
        """Whether this step's text is the student's, by torch's generator, which a resumed training
        puts back."""
        import torch

        return float(torch.rand(())) < self.params.on_policy

    def write(self, student: Any, batch: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """(tokens, attention mask, labels), each (windows, prompt and what follows): the windows'
        first tokens and what the student goes on to write, of which that alone counts.

        batch: (windows, tokens) int64
        """
        import torch
        from transformers import GenerationConfig

        ends = self.eos if isinstance(self.eos, list) else [self.eos]
        config = GenerationConfig(
            max_new_tokens=self.params.max_new_tokens,
            temperature=self.params.sampling_temperature,
            do_sample=True,
            top_k=0,
            top_p=1.0,
            pad_token_id=next((one for one in (self.pad, *ends) if one is not None), 0),
            eos_token_id=self.eos,
        )
        prompts = batch[:, : self.params.prefix_tokens]
        inputs = {"prompts": prompts, "prompt_attention_mask": torch.ones_like(prompts)}
        student.eval()
        with torch.no_grad():
            written = library().generate_on_policy_outputs(student, inputs, config)
        student.train()
        return written


@dataclass(frozen=True)
class Lesson:
    """The loss of a batch: trl's generalised Jensen-Shannon divergence, nats per token."""

    teacher: Any
    beta: float
    writing: Writing | None  # None: only what is in the windows is read

    def __call__(
        self, student: Any, batch: torch.Tensor, _numbers: Sequence[int]
    ) -> tuple[torch.Tensor, Mapping[str, float]]:
        """(the loss, its terms by name). batch: (windows, tokens) int64"""
        import torch

        own = False
        ids, mask, labels = batch, torch.ones_like(batch), batch
        if self.writing is not None and self.writing.due():
            own = True
            ids, mask, labels = self.writing.write(student, batch)
        counted = labels[:, 1:]
        given = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
        with torch.no_grad():
            teacher = self.teacher(**given).logits[:, :-1].float()
        logits = student(**given).logits[:, :-1].float()
        loss = library().generalized_jsd_loss(logits, teacher, counted, self.beta)
        with torch.no_grad():
            kl = library().generalized_jsd_loss(logits, teacher, counted, 0.0)
        tokens = int((counted != IGNORED).sum()) if own else 0
        return beyond_noise(loss), {"kl": float(kl), "tokens_written": tokens}


def tell(params: Params, trained: Trained, context: Context) -> None:
    """What was done, in words and as figures."""
    written = trained.figures["tokens_written"]
    own = sum(count > 0 for count in written)
    context.notes.append(
        f"The student took {trained.steps} steps, taught by the study's original:"
        f" {trained.sentence()}. In {own} of them it read what it had written itself,"
        f" {sum(written):.0f} tokens after prompts of {params.prefix_tokens}, in the others windows"
        f" of {params.tokens} tokens"
    )
    kl = trained.figures["kl"]
    rows = [
        *trained.rows(),
        ("first_kl", kl[0], "nats"),
        ("last_kl", kl[-1], "nats"),
        ("tokens_written", sum(written), "tokens"),
    ]
    for name, value, unit in rows:
        context.figure(name, value, unit)
