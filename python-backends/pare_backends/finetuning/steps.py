"""Training steps that go on after a kill: their state lies in the action's working folder."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pare_backends.failures import StageFailure
from pare_backends.methods.context import Context

if TYPE_CHECKING:
    import torch

STATE = "state.safetensors"
SAVED_EVERY = 10
"""Steps: what a kill costs at most."""
LARGEST_NORM = 1.0
"""A gradient that is longer is shortened to it."""
MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def train(
    model: Any, windows: torch.Tensor, steps: int, lr: float, context: Context
) -> list[float]:
    """Trains the parameters that ask for a gradient, one window a step, in the windows' order and
    again from the first; AdamW, its step falling linearly to zero.

    windows: (windows, tokens) int64
    returns: the loss of every step, nats a token
    raises: StageFailure "not_a_number" at the first loss that is none
    """
    import torch

    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), lr=lr, weight_decay=0.0)
    folder = context.work_dir
    losses = [] if folder is None else restore(folder, trained, optimizer)
    model.train()
    with context.report.span("train", library=True):
        for step in range(len(losses), steps):
            window = windows[step % len(windows)].unsqueeze(0)
            for group in optimizer.param_groups:
                group["lr"] = lr * (1 - step / steps)
            loss = model(input_ids=window, labels=window, use_cache=False).loss
            losses.append(finite(float(loss.detach()), step))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained.values(), LARGEST_NORM)
            optimizer.step()
            context.report.progress("train", step + 1, steps, "steps")
            if folder is not None and (step + 1) % SAVED_EVERY == 0:
                save(folder, trained, optimizer, losses)
    model.eval()
    return losses


def finite(loss: float, step: int) -> float:
    """The loss; raises where it is no number."""
    if math.isfinite(loss):
        return loss
    raise StageFailure(
        "not_a_number",
        f"Cannot train: the loss of step {step + 1} is {loss}",
        hint="Lower lr or alpha, or take other training text",
    )


def save(
    folder: Path, trained: Mapping[str, torch.Tensor], optimizer: Any, losses: list[float]
) -> None:
    """Writes weights, the optimizer's moments, the generator and the losses; all or nothing."""
    import torch
    from safetensors.torch import save_file

    tensors = {"generator": torch.get_rng_state()}
    for name, parameter in trained.items():
        tensors[f"weight:{name}"] = parameter.detach().clone()
        for moment in MOMENTS:
            tensors[f"{moment}:{name}"] = optimizer.state[parameter][moment].clone()
    partial = folder / f"{STATE}.partial"
    save_file(tensors, str(partial), metadata={"losses": json.dumps(losses)})
    partial.replace(folder / STATE)


def restore(folder: Path, trained: Mapping[str, torch.Tensor], optimizer: Any) -> list[float]:
    """Puts back what `save` wrote; returns the losses so far, none where nothing was written."""
    import torch
    from safetensors import safe_open

    path = folder / STATE
    if not path.exists():
        return []
    with safe_open(str(path), framework="pt") as file:
        losses: list[float] = json.loads(file.metadata()["losses"])
        torch.set_rng_state(file.get_tensor("generator"))
        for name, parameter in trained.items():
            with torch.no_grad():
                parameter.copy_(file.get_tensor(f"weight:{name}"))
            optimizer.state[parameter] = {
                moment: file.get_tensor(f"{moment}:{name}") for moment in MOMENTS
            }
    return losses
