"""The knobs that every training by gradients has."""

from __future__ import annotations

from dataclasses import dataclass

from pare_backends.knobs import choice, integer, real
from pare_backends.training.schedule import SHAPES


@dataclass(frozen=True)
class TrainingKnobs:
    """A method's `Params` inherits these, and gives those another range that are its own."""

    lr: float = real(2e-4, minimum=1e-5, maximum=5e-3, unit="step of AdamW at its highest")
    steps: int = integer(20, minimum=20, maximum=2000, unit="steps, a batch each")
    epochs: int = integer(0, minimum=0, maximum=10, unit="times that every window is read")
    batch: int = integer(1, minimum=1, maximum=16, unit="windows a step")
    schedule: str = choice("linear", choices=SHAPES, unit="name")
    warmup: float = real(0.0, minimum=0.0, maximum=0.5, unit="share of the steps")
    tokens: int = integer(256, minimum=16, maximum=2048, unit="tokens of a window")
    held_out: int = integer(4, minimum=0, maximum=64, unit="windows")
