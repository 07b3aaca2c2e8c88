"""The knobs that every training by gradients has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingKnobs:
    """A method's `Params` inherits these, and gives those another range that are its own."""

    lr: float = 2e-4
    steps: int = 20
    epochs: int = 0
    batch: int = 1
    schedule: str = "linear"
    warmup: float = 0.0
    tokens: int = 256
    held_out: int = 4
