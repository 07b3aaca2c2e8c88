"""What a training has come to, and its file: a killed training goes on from it.

The file lies in the action's working folder, whose name stands for all that the action was given: a
state that is found there is one of this very training.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pare_backends.failures import one_line
from pare_backends.models.whole_file import save_whole
from pare_backends.progress import Report

if TYPE_CHECKING:
    import torch

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
DISK_HINT = "Free space, or set PARE_HOME to a larger disk: the training goes on from there"


@dataclass
class Course:
    """A training so far: what it knows beside weights and moments."""

    losses: list[float] = field(default_factory=list)
    figures: dict[str, list[float]] = field(default_factory=dict)
    held_out: list[tuple[int, float]] = field(default_factory=list)
    tokens: int = 0
    best: dict[str, torch.Tensor] | None = None
    """The trained weights of the look with the lowest held-out loss."""

    @property
    def best_look(self) -> tuple[int, float]:
        """(steps, loss) of the first look with the lowest loss."""
        return min(self.held_out, key=lambda look: look[1])

    @property
    def looks_since(self) -> int:
        """Looks in a row that found nothing better."""
        return len(self.held_out) - 1 - self.held_out.index(self.best_look)

    def text(self) -> str:
        """All but the weights."""
        kept = ("losses", "figures", "held_out", "tokens")
        return json.dumps({name: getattr(self, name) for name in kept})


def save(path: Path, trained: Mapping[str, torch.Tensor], optimizer: Any, course: Course) -> None:
    """Writes weights, moments, the best weights, the generator and the course; all or nothing.

    raises: CallFailure "disk_full"; the state that was there before still is
    """
    import torch

    tensors = {"generator": torch.get_rng_state()}
    for name, parameter in trained.items():
        tensors[f"weight:{name}"] = parameter.detach().contiguous()
        for moment in MOMENTS:
            tensors[f"{moment}:{name}"] = optimizer.state[parameter][moment].contiguous()
        if course.best is not None:
            tensors[f"best:{name}"] = course.best[name]
    attempt = f"save the training after step {len(course.losses)}"
    save_whole(path, tensors, attempt, DISK_HINT, {"course": course.text()})


def restore(
    path: Path, trained: Mapping[str, torch.Tensor], optimizer: Any, report: Report
) -> Course:
    """Puts back what `save` wrote; an empty course where nothing was written, or where the file is
    damaged, which is told."""
    if not path.exists():
        return Course()
    try:
        return read(path, trained, optimizer)
    except Exception as error:
        optimizer.state.clear()
        report.alert(
            "training_state",
            f"{path.name}, which a run that was ended left, cannot be read ({one_line(error)}):"
            " the training begins anew",
        )
        return Course()


def read(path: Path, trained: Mapping[str, torch.Tensor], optimizer: Any) -> Course:
    """The course; weights and moments are put in their places, all or none."""
    import torch
    from safetensors import safe_open

    with safe_open(str(path), framework="pt") as file:
        course = Course(**json.loads(file.metadata()["course"]))
        course.held_out = [(step, loss) for step, loss in course.held_out]
        names = file.keys()
        found = {name: file.get_tensor(name) for name in names}
    kinds = ("weight", *MOMENTS, *(("best",) if course.held_out else ()))
    values = {kind: {name: found[f"{kind}:{name}"] for name in trained} for kind in kinds}
    generator = found["generator"]
    torch.set_rng_state(generator)
    with torch.no_grad():
        for name, parameter in trained.items():
            parameter.copy_(values["weight"][name])
            moments = {moment: values[moment][name] for moment in MOMENTS}
            # AdamW keeps the count of steps on the CPU.
            moved = {m: v if m == "step" else v.to(parameter.device) for m, v in moments.items()}
            optimizer.state[parameter] = moved
    if course.held_out:
        course.best = values["best"]
    return course
