"""Training steps: AdamW on windows in a seeded order, ended early where a held-out loss falls no
more. A killed training goes on, and on a CPU comes to the same bytes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.training.curves import Curves
from pare_backends.training.divergence import check_progress
from pare_backends.training.order import numbers_of
from pare_backends.training.schedule import SHAPES, Schedule
from pare_backends.training.state import Course, restore, save
from pare_backends.training.trained import Trained

if TYPE_CHECKING:
    import torch

LossOf = Callable[[Any, "torch.Tensor", Sequence[int]], "tuple[torch.Tensor, Mapping[str, float]]"]
"""(model, windows of the batch (windows, tokens) int64, their numbers) to (the loss that is to
fall, further figures of the step by name)."""

SAVED_EVERY = 10
"""Steps: what a kill costs at most, where saving takes little time."""
SAVING_SHARE = 20
"""The next saving waits for so many times as long as the last one took."""
LARGEST_NORM = 1.0
"""A gradient that is longer is shortened to it."""


def train(
    model: Any,
    loss_of: LossOf,
    windows: torch.Tensor,
    schedule: Schedule,
    context: Context,
    held_out: Callable[[Any], float] | None = None,
    label: str = "train",
) -> Trained:
    """Trains the parameters that ask for a gradient; every window is read once before any is read
    again. Afterwards the model has the weights with the best held-out loss, those that it came with
    among them; without a held-out loss, the last.

    windows: (windows, tokens) int64
    held_out: a loss that is to fall, of windows that are not trained on
    label: tells several trainings of one action apart
    raises: CallFailure "not_a_number" at the first loss or gradient that is none, "invalid" where
        the learning rate diverges, "disk_full" where the state cannot be saved
    """
    import torch

    check(windows, schedule)
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), lr=schedule.lr, weight_decay=0.0)
    torch.manual_seed(context.seed)
    path = None if context.work_dir is None else context.work_dir / f"{label}.safetensors"
    course = Course() if path is None else restore(path, trained, optimizer, context.report)
    training = Training(
        model,
        loss_of,
        windows,
        schedule,
        context,
        held_out,
        label,
        trained,
        optimizer,
        course,
        path,
    )
    with context.report.span(label, library=True):
        stopped = training.run()
    kept = len(course.losses) if course.best is None else course.best_look[0]
    return Trained(course.losses, course.figures, course.held_out, stopped, kept, course.tokens)


def check(windows: torch.Tensor, schedule: Schedule) -> None:
    """Raises where there is not enough to train on, or the schedule's shape is unknown."""
    if schedule.shape not in SHAPES:
        raise ValueError(f'Unknown shape "{schedule.shape}". Known: {", ".join(SHAPES)}')
    if schedule.batch > len(windows):
        raise CallFailure(
            "invalid",
            f"Cannot train on batches of {schedule.batch} windows: there are {len(windows)} to"
            " train on",
            hint="Take a smaller batch, or give a longer training text",
        )


@dataclass
class Training:
    """One training while it runs."""

    model: Any
    loss_of: LossOf
    windows: torch.Tensor
    schedule: Schedule
    context: Context
    held_out: Callable[[Any], float] | None
    label: str
    trained: dict[str, torch.Tensor]
    optimizer: Any
    course: Course
    path: Path | None
    saving_seconds: float = 0.0
    saved_at: float = field(default_factory=time.monotonic)

    def run(self) -> str:
        """Takes the steps; returns why it ended."""
        curves = Curves(self.context.report)
        self.tell_restored(curves)
        try:
            while True:
                self.look(curves)
                if self.course.held_out and self.course.looks_since >= self.schedule.patience:
                    stopped = "held_out"
                    break
                if len(self.course.losses) >= self.schedule.steps:
                    stopped = "steps"
                    break
                self.step(curves)
                self.save()
        finally:
            self.model.eval()
            curves.tell()
        self.take_best()
        return stopped

    def tell_restored(self, curves: Curves) -> None:
        """Tells the points of a run that was ended: whoever runs it anew has forgotten them."""
        looks = dict(self.course.held_out)
        for step in range(len(self.course.losses)):
            self.tell_look(curves, looks, step)
            self.tell_step(curves, step)

    def tell_look(self, curves: Curves, looks: Mapping[int, float], step: int) -> None:
        """The held-out loss before a step, where there was a look."""
        if step in looks:
            curves.add(step, {"held_out_loss": looks[step]})

    def tell_step(self, curves: Curves, step: int) -> None:
        """Loss, learning rate and further figures of a step; points count steps from 1."""
        further = {name: values[step] for name, values in self.course.figures.items()}
        values = {"loss": self.course.losses[step], "learning_rate": self.schedule.rate(step)}
        curves.add(step + 1, {**values, **further})

    def look(self, curves: Curves) -> None:
        """The held-out loss where it is time: before the first step, every so many, and last."""
        taken, course = len(self.course.losses), self.course
        due = taken % self.schedule.look_every == 0 or taken == self.schedule.steps
        if self.held_out is None or not due:
            return
        self.model.eval()
        loss = finite(self.held_out(self.model), f"the held-out loss after step {taken}")
        course.held_out.append((taken, loss))
        if course.looks_since == 0:
            course.best = {name: p.detach().clone() for name, p in self.trained.items()}
        self.tell_look(curves, dict(course.held_out[-1:]), taken)

    def step(self, curves: Curves) -> None:
        """One step of the optimizer."""
        import torch

        course, step = self.course, len(self.course.losses)
        numbers = numbers_of(step, self.schedule.batch, len(self.windows), self.context.seed)
        device = next(iter(self.trained.values())).device
        batch = self.windows[numbers].to(device)
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule.rate(step)
        self.model.train()
        loss, further = self.loss_of(self.model, batch, numbers)
        value = float(loss.detach())
        course.losses.append(
            finite(value, f"the loss of step {step + 1}", lambda: self.first_broken(batch))
        )
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.trained.values(), LARGEST_NORM)
        finite(float(norm), f"the gradient of step {step + 1}", self.broken_gradients)
        self.optimizer.step()
        for name, value in further.items():
            course.figures.setdefault(name, []).append(float(value))
        course.tokens += batch.numel()
        self.tell_step(curves, step)
        self.context.report.progress(self.label, step + 1, self.schedule.steps, "steps")
        check_progress(course.losses, self.schedule.lr)

    def first_broken(self, batch: Any) -> str | None:
        """The first layer that gives no numbers for one of the windows. batch: (windows, tokens)"""
        from pare_backends.first_broken import first_broken_layer

        found = (first_broken_layer(self.model, window.tolist()) for window in batch)
        return next((f"first those of {one}" for one in found if one is not None), None)

    def broken_gradients(self) -> str | None:
        """The trained tensors whose gradients are no numbers: how many, and the first of them."""
        from pare_backends.first_broken import broken_tensors

        names = broken_tensors((name, p.grad) for name, p in self.trained.items())
        return (
            f"in {len(names)} of {len(self.trained)} tensors, first {names[0]}" if names else None
        )

    def save(self) -> None:
        """Saves the state where it is time."""
        taken = len(self.course.losses)
        if self.path is None or taken % SAVED_EVERY != 0:
            return
        started = time.monotonic()
        if started - self.saved_at < SAVING_SHARE * self.saving_seconds:
            return
        save(self.path, self.trained, self.optimizer, self.course)
        self.saved_at = time.monotonic()
        self.saving_seconds = self.saved_at - started

    def take_best(self) -> None:
        """Puts the weights of the best look back."""
        import torch

        if self.course.best is None or self.course.best_look[0] == len(self.course.losses):
            return
        with torch.no_grad():
            for name, parameter in self.trained.items():
                parameter.copy_(self.course.best[name])


def finite(value: float, name: str, where: Callable[[], str | None] = lambda: None) -> float:
    """The value; raises where it is no number, and says where that began."""
    if math.isfinite(value):
        return value
    found = where()
    raise CallFailure(
        "not_a_number",
        f"Cannot train: {name} is {value}" + ("" if found is None else f", {found}"),
        hint="Lower the learning rate, or take other training text",
    )
