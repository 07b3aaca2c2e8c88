"""Whether a learning rate is so high that training destroys the model."""

from __future__ import annotations

from collections.abc import Sequence

from pare_backends.failures import CallFailure

WINDOW = 8
"""Steps whose mean loss is compared: a single window of text may be hard by itself."""
RISE = 2.0
"""Nats a token above the best: the right token gets less than a seventh (1 / e²) of the probability
that it had. Windows of one text differ by less in the mean of eight."""
SHARE = 1.5
"""Times the best, too: where the loss is large by its kind, as a distillation's at a high
temperature is, 2 nats are little."""


def check_progress(losses: Sequence[float], lr: float) -> None:
    """Raises "invalid" where the mean loss of the last steps is far above the first step's, which
    is the untrained model's, or above the lowest such mean since."""
    if len(losses) < WINDOW:
        return
    means = [sum(losses[at - WINDOW : at]) / WINDOW for at in range(WINDOW, len(losses) + 1)]
    best, last = min(losses[0], *means), means[-1]
    if last <= max(best + RISE, SHARE * best):
        return
    raise CallFailure(
        "invalid",
        f"Cannot train with a learning rate of {lr:g}: the loss diverges. It was {best:.2f} at best"
        f" and {last:.2f} in the mean of the {WINDOW} steps up to step {len(losses)}",
        hint="Lower the learning rate, or train with a warm-up",
    )
