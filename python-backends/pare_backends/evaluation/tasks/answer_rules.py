"""How pare itself reads an answer out of a generation, where the requirements say how.

A task names a rule in its definition's metadata: `rule: "final_number"`. The rule gives the answer
that it read (None: there is none, which is wrong) and whether that is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pare_backends.evaluation.tasks.boxed import final_answer, last_box, same_answer
from pare_backends.evaluation.tasks.countdown import read_solution
from pare_backends.failures import StageFailure

NUMBER = r"(?:(?<![\d.)])-)?(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
"""A minus after a digit or a bracket is a subtraction, not a sign."""
MARKED = (re.compile(rf"####\s*({NUMBER})"), re.compile(rf"Final Answer:\s*({NUMBER})"))
ANY_NUMBER = re.compile(NUMBER)
NUMBER_TOLERANCE = 0.01


@dataclass(frozen=True)
class Reading:
    """What a rule made of a generation."""

    answer: str | None
    right: bool
    gold: str | None = None
    """The right answer as it was compared; None: as it stands."""
    beside: Mapping[str, float] = field(default_factory=dict)
    """Scores by other metrics, which the task reports beside its accuracy."""


def final_number(text: str) -> str | None:
    """The number after `####`, else the one after `Final Answer:`, else the last one; None where
    there is no number. Without thousands separators and currency signs."""
    plain = text.replace("$", "").replace("\u2212", "-")
    for pattern in MARKED:
        marked = pattern.search(plain)
        if marked is not None:
            return marked.group(1).replace(",", "")
    numbers = ANY_NUMBER.findall(plain)
    return numbers[-1].replace(",", "") if numbers else None


def read_number(text: str, gold: str) -> Reading:
    """Right where the final number is within 0.01 of the gold answer's."""
    wanted, answer = final_number(gold), final_number(text)
    if wanted is None:
        raise StageFailure("bad_input", f"Cannot score against {gold!r}: it holds no number")
    if answer is None:
        return Reading(None, False)
    return Reading(answer, abs(float(answer) - float(wanted)) < NUMBER_TOLERANCE)


def read_contained(text: str, gold: str) -> Reading:
    """Right where the generation holds the gold answer, upper and lower case alike."""
    found = re.search(re.escape(gold.strip()), text, re.IGNORECASE)
    return Reading(text.strip() or None, found is not None)


def read_span(text: str, gold: str) -> Reading:
    """Right where the generation holds the gold answer; SQuAD's own exact match and F1 beside it
    (Rajpurkar et al. 2016): lower case, without punctuation, articles and spare white space."""
    from transformers.data.metrics.squad_metrics import compute_exact, compute_f1

    beside = {"exact_match": float(compute_exact(gold, text)), "f1": float(compute_f1(gold, text))}
    return replace(read_contained(text, gold), beside=beside)


def read_boxed(text: str, solution: str) -> Reading:
    """Right where the last box is that of the solution by MATH's own normalisation."""
    wanted, answer = last_box(solution), final_answer(text)
    if wanted is None:
        raise StageFailure("bad_input", f"Cannot score against {solution[-80:]!r}: it has no box")
    return Reading(answer, answer is not None and same_answer(answer, wanted), wanted)


def read_countdown(text: str, problem: str) -> Reading:
    """Right where the expression reaches the problem's target from its numbers."""
    return Reading(*read_solution(text, problem))


RULES: dict[str, Callable[[str, str], Reading]] = {
    "final_number": read_number,
    "contains": read_contained,
    "contains_span": read_span,
    "last_box": read_boxed,
    "countdown": read_countdown,
}


def rule_of(definition: dict[str, Any]) -> Callable[[str, str], Reading] | None:
    """The rule that a definition names; None: lm-eval's own metrics score it."""
    name = (definition.get("metadata") or {}).get("rule")
    if name is None:
        return None
    if name not in RULES:
        known = ", ".join(sorted(RULES))
        raise StageFailure("bad_input", f'Unknown answer rule "{name}". Known: {known}')
    return RULES[name]


def read_best(rule: Callable[[str, str], Reading], text: str, golds: str | list[str]) -> Reading:
    """What the rule makes of a generation whose right answers are several: right by any of them,
    and the best score of each metric beside it."""
    readings = [rule(text, str(gold)) for gold in (golds if isinstance(golds, list) else [golds])]
    best = next((one for one in readings if one.right), readings[0])
    beside = {name: max(one.beside[name] for one in readings) for name in best.beside}
    return replace(best, beside=beside)
