"""Windows that training leaves out, whose loss says when to stop.

They come from the training text, so they share nothing with evaluated samples; here it is seen to
that they share nothing with the windows that are trained on either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.training.losses import next_token_loss

if TYPE_CHECKING:
    import torch

RUN = 24
"""Tokens in a row that two windows have in common only where one repeats the other's text: a little
more than the 13 words by which evaluated text is found make."""
LARGEST_SHARE = 4
"""At most one window of so many is held out: the rest has to teach."""


def hold_out(
    windows: torch.Tensor, count: int, context: Context
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """(windows to train on, windows held out): the last `count`, at most a quarter of all; None
    where that is none.

    windows: (windows, tokens) int64
    raises: CallFailure "invalid" where all that would be held out repeat text that is trained on
    """
    count = min(count, len(windows) // LARGEST_SHARE)
    if count == 0:
        return windows, None
    training, held = windows[:-count], windows[-count:]
    shared = repeats(training.tolist(), held.tolist())
    if not shared:
        return training, held
    number, trained = next(iter(shared.items()))
    named = f"window {len(training) + number} with window {trained}"
    if len(shared) == count:
        raise CallFailure(
            "invalid",
            f"Cannot hold out {count} training windows: all share {RUN} tokens in a row with"
            f" windows that are trained on, such as {named}",
            hint="Give a training text that repeats itself less, or set held_out to 0",
        )
    context.report.alert(
        "held_out_overlap",
        f"{len(shared)} of {count} windows that were to be held out share {RUN} tokens in a row"
        f" with windows that are trained on and were left out, such as {named}",
    )
    return training, held[[i for i in range(count) if i not in shared]]


def repeats(training: list[list[int]], held: list[list[int]]) -> dict[int, int]:
    """Held-out windows that share a run of tokens with a training window: which with which."""
    places: dict[tuple[int, ...], set[int]] = {}
    for number, window in enumerate(held):
        for run in runs(window):
            places.setdefault(run, set()).add(number)
    found: dict[int, int] = {}
    for trained, window in enumerate(training):
        for run in runs(window):
            for number in places.get(run, ()):
                found.setdefault(number, trained)
    return found


def runs(window: list[int]) -> list[tuple[int, ...]]:
    """Every run of tokens in a row; a shorter window is one."""
    last = max(1, len(window) - RUN + 1)
    return [tuple(window[at : at + RUN]) for at in range(last)]


def held_out_loss(
    windows: torch.Tensor, batch: int, loss_of: Any = next_token_loss
) -> Callable[[Any], float]:
    """The function that `train` looks at: the mean loss over these windows.

    windows: (windows, tokens) int64
    """
    import torch

    def loss(model: Any) -> float:
        total = 0.0
        device = next(model.parameters()).device
        with torch.no_grad():
            for at in range(0, len(windows), batch):
                some = windows[at : at + batch].to(device)
                indices = list(range(at, at + len(some)))
                total += len(some) * float(loss_of(model, some, indices)[0])
        return total / len(windows)

    return loss
