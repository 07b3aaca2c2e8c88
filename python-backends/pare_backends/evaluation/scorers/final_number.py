"""The final number of a text, as GSM8K's answers are read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pare_backends.evaluation.scoring.answer import Answer, Score
from pare_backends.evaluation.scoring.readings import Reading, best_reading
from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure

NUMBER = r"(?:(?<![\d.)])-)?(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
"""A minus after a digit or a bracket is a subtraction, not a sign."""
MARKED = (re.compile(rf"####\s*({NUMBER})"), re.compile(rf"Final Answer:\s*({NUMBER})"))
ANY_NUMBER = re.compile(NUMBER)
NUMBER_TOLERANCE = 0.01


@dataclass(frozen=True)
class Params:
    gold: str
    """Field of the row that holds the right answer."""


def score(answer: Answer, row: Row, params: Params) -> Score:
    """Right where the final number is within 0.01 of the right answer's."""
    return best_reading(read_number, answer, row[params.gold])


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
        raise CallFailure("bad_input", f"Cannot score against {gold!r}: it holds no number")
    if answer is None:
        return Reading(None, False)
    return Reading(answer, abs(float(answer) - float(wanted)) < NUMBER_TOLERANCE)
