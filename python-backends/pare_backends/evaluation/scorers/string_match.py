"""Which of the right answers a text holds, as RULER is scored (Hsieh et al. 2024)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pare_backends.evaluation.scoring.answer import OWN, Answer, Score
from pare_backends.evaluation.tasks.records import Row

CONTROL = re.compile(r"[\x00-\x1f]")


@dataclass(frozen=True)
class Params:
    gold: str
    """Field of the row with the right answers."""
    any: bool
    """One of them is enough."""


def score(answer: Answer, row: Row, params: Params) -> Score:
    """The share of the right answers that stand in the text, upper and lower case alike; with `any`
    1 where one does."""
    said = CONTROL.sub("\n", answer.text.strip()).strip()
    golds = row[params.gold]
    right = [str(one) for one in (golds if isinstance(golds, list) else [golds])]
    found = [one.lower() in said.lower() for one in right]
    share = float(any(found)) if params.any else sum(found) / max(len(found), 1)
    return Score({OWN: share}, parsed=said)
