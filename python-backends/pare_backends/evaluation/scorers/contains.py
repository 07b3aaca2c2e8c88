"""Whether a text holds the right answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pare_backends.evaluation.scoring.answer import Answer, Score
from pare_backends.evaluation.scoring.readings import Reading, best_reading
from pare_backends.evaluation.tasks.records import Row


@dataclass(frozen=True)
class Params:
    gold: str
    """Field of the row that holds the right answer."""


def score(answer: Answer, row: Row, params: Params) -> Score:
    """Right where the text holds the right answer."""
    return best_reading(read_contained, answer, row[params.gold])


def read_contained(text: str, gold: str) -> Reading:
    """Right where the text holds the gold answer, upper and lower case alike."""
    found = re.search(re.escape(gold.strip()), text, re.IGNORECASE)
    return Reading(text.strip() or None, found is not None)
