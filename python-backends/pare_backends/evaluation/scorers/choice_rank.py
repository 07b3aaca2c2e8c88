"""The rank of the right choice by log-likelihood."""

from __future__ import annotations

from dataclasses import dataclass

from pare_backends.evaluation.scoring.answer import OWN, Answer, Score
from pare_backends.evaluation.tasks.records import Row


@dataclass(frozen=True)
class Params:
    gold: str
    """Field of the row with the number of the right choice, from 0."""


def score(answer: Answer, row: Row, params: Params) -> Score:
    """One over the rank; of choices that are as likely as the right one, all stand above it."""
    right = answer.likelihoods[int(row[params.gold])]
    rank = sum(value >= right for value in answer.likelihoods)
    return Score({OWN: 1 / rank}, parsed=str(rank))
