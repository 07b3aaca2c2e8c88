"""How long a training goes and how its learning rate runs over the steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

SHAPES = ("linear", "cosine", "constant")


@dataclass(frozen=True)
class Schedule:
    """`steps` steps of `batch` windows each; with a held-out loss it may end before."""

    lr: float  # of AdamW, at its highest
    steps: int
    batch: int = 1
    shape: str = "linear"  # how the rate falls after the warm-up; constant: it stays
    warmup: float = 0.0  # share of the steps in which the rate rises to lr
    look_every: int = 10  # steps between two looks at the held-out loss
    patience: int = 3  # looks in a row without a better loss that end it

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0: that of transformers' schedules, but that a
        warm-up begins above 0, as a step of length 0 is none."""
        rising = math.ceil(self.warmup * self.steps)
        if step < rising:
            return self.lr * (step + 1) / rising
        if self.shape == "constant":
            return self.lr
        done = (step - rising) / max(1, self.steps - rising)
        if self.shape == "cosine":
            return self.lr * 0.5 * (1 + math.cos(math.pi * done))
        return self.lr * (1 - done)


def steps_of(epochs: float, windows: int, batch: int) -> int:
    """Steps in which every window is read so many times, the last one perhaps once more."""
    return max(1, math.ceil(epochs * windows / batch))
