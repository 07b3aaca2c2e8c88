"""For scorers that read an answer out of a text and hold it against what a row says is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pare_backends.evaluation.scoring.answer import OWN, Answer, Score


@dataclass(frozen=True)
class Reading:
    """What a rule made of a text."""

    answer: str | None
    right: bool
    gold: str | None = None
    """The right answer as it was compared; None: as it stands."""
    beside: Mapping[str, float] = field(default_factory=dict)
    """Scores by other metrics than accuracy."""


def best_reading(rule: Callable[[str, str], Reading], answer: Answer, golds: Any) -> Score:
    """The rule's score of a text whose right answers may be several (a list): right by any of them,
    and the best score of each metric beside it."""
    every = golds if isinstance(golds, list) and golds else [golds]
    readings = [rule(answer.text, str(gold)) for gold in every]
    best = next((one for one in readings if one.right), readings[0])
    beside = {name: max(one.beside[name] for one in readings) for name in best.beside}
    return Score({OWN: float(best.right), **beside}, parsed=best.answer, gold=best.gold)
