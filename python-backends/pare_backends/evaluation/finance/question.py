# ruff: noqa: RUF001
"""One question with its computed answer, and how parameters are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from pare_backends.evaluation.tasks.draws import draws

T = TypeVar("T")
ASKED = {
    "en": "Give the number to at least four significant digits, after “Answer:”.",
    "zh": "请在“答案：”之后给出数值，至少保留四位有效数字。",
}
DIGITS = 10
"""Significant digits of an answer as it is stored: more than any tolerance tells apart."""


class Drawn:
    """Parameters of one question, the same for its label on every machine."""

    def __init__(self, label: str) -> None:
        self._numbers: Iterator[int] = draws(label)

    def one(self, among: Sequence[T]) -> T:
        """One of several, each as likely."""
        return among[next(self._numbers) % len(among)]

    def step(self, low: float, high: float, by: float) -> float:
        """A multiple of `by` from low to high, both with it: round, as a person would write it."""
        steps = round((high - low) / by)
        return round(low + by * (next(self._numbers) % (steps + 1)), 10)


Row = dict[str, Any]
Make = Callable[["Drawn"], Row]


def row(kind: str, text: str, value: float, unit: str = "", language: str = "en") -> Row:
    """As a task has it: `question`, `answer` with its unit, and its `kind`, a slice."""
    plain = f"{value:.{DIGITS}g}"
    answer = f"{plain} {unit}".strip()
    return {"question": f"{text} {ASKED[language]}", "answer": answer, "kind": kind}


def questions(name: str, kinds: Sequence[Make], count: int, seed: int) -> list[Row]:
    """The first `count` questions of a seed, the kinds in turn, no two alike. name: with a
    version"""
    found: dict[str, dict[str, Any]] = {}
    number = 0
    while len(found) < count:
        made = kinds[len(found) % len(kinds)](Drawn(f"{name}/{seed}/{number}"))
        number += 1
        found.setdefault(made["question"], made)
    return list(found.values())
