"""Answers of a kind that the row names: a number, an order, a label or a text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from pare_backends.evaluation.scorers.close_number import quantity, read_close
from pare_backends.evaluation.scoring.answer import Answer, Score
from pare_backends.evaluation.scoring.readings import Reading, best_reading
from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure
from pare_backends.knobs import unknown_name

FIELD = re.compile(
    r'"(?:answer|result|排序结果|答案)"\s*:\s*(?:"([^"]*)"|\[([^\]]*)\]|([^,}\n]+))', re.IGNORECASE
)
"""An answer within a JSON object, also one that is cut off."""
DENIED = ("not", "no", "nor", "never", "neither", "t")
"""Before a label, the answer is another one; `t` is what is left of "isn't"."""
WITHIN = 0.01
"""Of the right number."""


@dataclass(frozen=True)
class Params:
    gold: str
    """Field of the row that holds the right answer."""
    rule: str
    """Field of the row that says how it is held against it."""


def score(answer: Answer, row: Row, params: Params) -> Score:
    """Right where the last answer of the text is the row's, as the row's rule compares them."""
    name = str(row[params.rule])
    rule = RULES.get(name)
    if rule is None:
        raise CallFailure("bad_input", f"Cannot score: {unknown_name('rule', name, list(RULES))}")
    return best_reading(lambda text, gold: rule(_said(text), _said(gold)), answer, row[params.gold])


def _said(text: str) -> str:
    """What stands in the last field of that name; the whole text where there is none."""
    found = FIELD.findall(text)
    return next((one for one in found[-1] if one), "").strip() if found else text.strip()


def _number(said: str, gold: str) -> Reading:
    if quantity(gold) is None:  # such as that data are lacking
        return _text(said, gold)
    return read_close(said, gold, WITHIN)


def _order(said: str, gold: str) -> Reading:
    own = re.findall(r"\d+", said)
    return Reading(",".join(own) or None, bool(own) and own == re.findall(r"\d+", gold))


def _plain(text: str) -> str:
    """Letters and digits alone, upper and lower case alike."""
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).lower()).strip()


def _label(said: str, gold: str) -> Reading:
    """The label alone, or the last word of a sentence that does not deny it."""
    own, right = _plain(said), _plain(gold)
    *_, word = own.removesuffix(right).split() or [""]
    last = bool(right) and own.endswith(f" {right}") and word not in DENIED
    return Reading(own or None, own == right or last)


def _text(said: str, gold: str) -> Reading:
    own = _plain(said)
    return Reading(own or None, own == _plain(gold))


RULES = {"number": _number, "order": _order, "label": _label, "text": _text}
