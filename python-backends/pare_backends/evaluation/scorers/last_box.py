r"""MATH's answer: what stands in the last \boxed{} or \fbox{} (Hendrycks et al. 2021)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pare_backends.evaluation.scoring.answer import Answer, Score
from pare_backends.evaluation.scoring.readings import Reading, best_reading
from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure

BOXES = ("\\boxed", "\\fbox")
STATED = re.compile(r"Final Answer: The final answer is(.*?)\. I hope it is correct", re.DOTALL)
"""How the four worked examples of Lewkowycz et al. (2022) end."""


@dataclass(frozen=True)
class Params:
    gold: str
    """Field of the row that holds the solution."""


def score(answer: Answer, row: Row, params: Params) -> Score:
    """Right where the last box is that of the solution by MATH's own normalisation."""
    return best_reading(read_boxed, answer, row[params.gold])


def read_boxed(text: str, solution: str) -> Reading:
    """Right where the last box, else the stated answer, equals the solution's box."""
    wanted, answer = last_box(solution), final_answer(text)
    if wanted is None:
        raise CallFailure("bad_input", f"Cannot score against {solution[-80:]!r}: it has no box")
    return Reading(answer, answer is not None and same_answer(answer, wanted), wanted)


def last_box(text: str) -> str | None:
    r"""The content of the last \boxed{}, of the last \fbox{} where there is none of those, also
    inside dollar signs; None where there is neither, or it has no end. `\boxed 5` holds all up to
    the next dollar sign, as lm-eval reads it."""
    box = next((name for name in BOXES if name in text), None)
    if box is None:
        return None
    rest = text[text.rindex(box) + len(box) :]
    if not rest.lstrip().startswith("{"):
        return rest[1:].split("$")[0] if rest.startswith(" ") else None
    rest, depth = rest.lstrip(), 0
    for place, character in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return rest[1:place]
    return None


def stated_answer(text: str) -> str | None:
    """What a sentence as the examples' last one states, without dollar signs around it; None where
    there is no such sentence."""
    found = STATED.findall(text)
    return found[-1].strip().strip("$") if found else None


def final_answer(text: str) -> str | None:
    """The last box, else the stated answer; None where the text has neither."""
    answer = last_box(text)
    return stated_answer(text) if not any(box in text for box in BOXES) else answer


def same_answer(answer: str, gold: str) -> bool:
    """Equal after the benchmark's own normalisation of LaTeX, which lm-eval keeps."""
    from lm_eval.tasks.hendrycks_math.utils import is_equiv

    return bool(is_equiv(answer, gold))
