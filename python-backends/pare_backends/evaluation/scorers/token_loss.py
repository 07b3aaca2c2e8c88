"""How unlikely a text is: the loss of each window, and perplexity as the exponential of their
mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pare_backends.evaluation.scoring.answer import OWN, Answer, Score
from pare_backends.evaluation.tasks.records import Row

LARGEST_EXPONENT = 709.0
"""Beyond it no float holds the exponential."""


@dataclass(frozen=True)
class Params:
    pass


def score(answer: Answer, row: Row, params: Params) -> Score:
    """Mean negative log-likelihood of a token, nats."""
    del row, params
    if answer.loss is None:
        return Score({}, why="it is no window of a text")
    return Score({OWN: answer.loss})


def figure(mean: float, error: float | None) -> tuple[float, float | None]:
    """Perplexity of a mean of losses, infinite where no float holds it; its standard error by the
    delta method."""
    value = math.exp(mean) if mean < LARGEST_EXPONENT else math.inf
    return value, None if error is None else value * error
