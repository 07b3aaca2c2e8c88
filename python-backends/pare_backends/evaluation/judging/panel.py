"""From what judges said of one answer to its score: a majority, or both orders of a pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, TypeVar

from pare_backends.evaluation.judging.prompts import Asked, Case
from pare_backends.evaluation.judging.rubric import Criterion, Rubric

T = TypeVar("T", int, float, str)
ORDERS = ("answer first", "reference first")
WON = {"answer": 1.0, "tie": 0.5, "other": 0.0}


def majority(values: Sequence[T]) -> T | None:
    """What more than half of them say; None: nothing has as many."""
    value, count = Counter(values).most_common(1)[0]
    return value if 2 * count > len(values) else None


def by_majority(said: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, float]:
    """Each criterion's value by the majority of the judges, else by their median."""
    found: dict[str, float] = {}
    for name in names:
        values = [one[name] for one in said]
        most = majority(values)
        found[name] = float(median(values) if most is None else most)
    return found


def winner_in(order: int, said: Mapping[str, Any]) -> str:
    """Who wins a pair, whichever way round it was shown. order: 0, the answer stood first."""
    if said["winner"] == "tie":
        return "tie"
    return "answer" if (said["winner"] == "A") == (order == 0) else "other"


def of_both_orders(winners: Sequence[str]) -> str:
    """An answer that wins in one order alone ties: its place won."""
    return winners[0] if len(set(winners)) == 1 else "tie"


def pair_score(outcomes: Sequence[str]) -> float:
    """The majority of the judges' outcomes; a tie where none has one."""
    return WON[majority(outcomes) or "tie"]


def questions_of(
    rubric: Rubric, criteria: tuple[Criterion, ...], question: str, reference: str | None, text: str
) -> list[Asked]:
    """What is asked about one answer: once, or in both orders beside the reference."""
    if rubric.mode == "score":
        return [Asked(Case(question, reference, (text,)), rubric, criteria)]
    other = reference or ""
    orders = ((text, other), (other, text))
    return [Asked(Case(question, None, pair), rubric, criteria) for pair in orders]
