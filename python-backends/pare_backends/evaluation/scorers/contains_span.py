"""Whether a text holds the right answer, and SQuAD's own figures of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pare_backends.evaluation.scorers.contains import read_contained
from pare_backends.evaluation.scoring.answer import Answer, Score
from pare_backends.evaluation.scoring.readings import Reading, best_reading
from pare_backends.evaluation.tasks.records import Row


@dataclass(frozen=True)
class Params:
    gold: str
    """Field of the row that holds the right answer."""


def score(answer: Answer, row: Row, params: Params) -> Score:
    """Right where the text holds the right answer; exact match and F1 beside it."""
    return best_reading(read_span, answer, row[params.gold])


def read_span(text: str, gold: str) -> Reading:
    """Right where the text holds the gold answer; SQuAD's own exact match and F1 beside it
    (Rajpurkar et al. 2016): lower case, without punctuation, articles and spare white space."""
    from transformers.data.metrics.squad_metrics import compute_exact, compute_f1

    beside = {"exact_match": float(compute_exact(gold, text)), "f1": float(compute_f1(gold, text))}
    return replace(read_contained(text, gold), beside=beside)
