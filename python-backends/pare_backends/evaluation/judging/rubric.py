"""By what a judge scores an answer, as `core/schemas/scoring/rubric.ts` has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pare_backends.evaluation.tasks.records import Row, content_hash
from pare_backends.failures import CallFailure

Part = Literal["question", "reference", "answer"]
Winner = Literal["answer", "other", "tie"]


@dataclass(frozen=True)
class Criterion:
    """One thing that a judge looks at."""

    name: str
    asks: str
    weight: float = 1.0
    """Below 0: of what an answer should not do."""


@dataclass(frozen=True)
class Example:
    """A question with an answer and how it is judged."""

    question: str
    answer: str
    reference: str | None = None
    other: str | None = None
    scores: dict[str, int] | None = None
    winner: Winner | None = None
    because: str | None = None


@dataclass(frozen=True)
class Cut:
    """A part that loses its text where all is too long for the judge."""

    part: Part
    keep: Literal["start", "end", "ends"] = "start"
    least: int = 200
    """Characters that stay."""


@dataclass(frozen=True)
class Rubric:
    """Criteria, scale, weights, examples, and what is cut."""

    name: str
    about: str
    mode: Literal["score", "pairwise"] = "score"
    scale: tuple[int, ...] = (1, 5)
    """Worst and best."""
    criteria: tuple[Criterion, ...] = ()
    criteria_field: str | None = None
    """Field of the row with criteria of its own."""
    examples: tuple[Example, ...] = ()
    reason: bool = True
    reply_tokens: int = 256
    cut: tuple[Cut, ...] = ()

    @property
    def version(self) -> str:
        """Hash of its content: another one wherever an answer may be judged otherwise."""
        return content_hash(asdict(self))

    def of(self, row: Row) -> tuple[Criterion, ...]:
        """Its own criteria, then those of the row. Raises `CallFailure` where the row has none."""
        if self.criteria_field is None:
            return self.criteria
        given = row.get(self.criteria_field)
        found = given if isinstance(given, Sequence) and not isinstance(given, str) else []
        own = tuple(_of_row(number, one) for number, one in enumerate(found, start=1))
        if not own or None in own:
            raise CallFailure(
                "bad_input",
                f"Cannot judge by {self.name}: the row's field {self.criteria_field} must be a list"
                f" of {{asks, weight}}, not {str(given)[:80]!r}",
            )
        return (*self.criteria, *(one for one in own if one is not None))

    def share(self, values: Mapping[str, float], criteria: Sequence[Criterion]) -> float:
        """Values by criterion as one score from 0 (worst) to 1 (best)."""
        worst, best = self.scale
        total = sum(one.weight for one in criteria if one.weight > 0)
        got = sum(one.weight * (values[one.name] - worst) / (best - worst) for one in criteria)
        return min(1.0, max(0.0, got / total)) if total > 0 else 0.0


def _of_row(number: int, given: Any) -> Criterion | None:
    if not isinstance(given, Mapping) or not isinstance(given.get("asks"), str):
        return None
    weight = given.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        return None
    return Criterion(f"c{number}", str(given["asks"]), float(weight))
