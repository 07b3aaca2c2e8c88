# ruff: noqa: RUF001
"""A number that a text ends with, held against the right one by a tolerance, units read."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass

from pare_backends.evaluation.scoring.answer import Answer, Score
from pare_backends.evaluation.scoring.readings import Reading, best_reading
from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure

NUMBER = (
    r"(?:(?<![\d.)])[-+]\s?)?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?:[eE][+-]?\d{1,3}|\s?[x*×]\s?10\^?\{?[+-]?\d{1,3}\}?)?"
)
"""A minus after a digit or a bracket is a subtraction, not a sign."""
SCALES = {
    "%": 0.01, "percent": 0.01, "per cent": 0.01, "bp": 1e-4, "bps": 1e-4, "basis points": 1e-4,
    "basis point": 1e-4, "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9,
    "bn": 1e9, "万": 1e4, "百万": 1e6, "亿": 1e8,
}  # fmt: skip
CURRENCIES = {
    "$": "USD", "usd": "USD", "dollars": "USD", "dollar": "USD", "美元": "USD",
    "€": "EUR", "eur": "EUR", "euros": "EUR", "euro": "EUR", "£": "GBP", "gbp": "GBP",
    "¥": "CNY", "cny": "CNY", "rmb": "CNY", "yuan": "CNY", "元": "CNY",
}  # fmt: skip


def _any_of(words: dict[str, object]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return "|".join(rf"{re.escape(w)}(?![a-z])" if w.isascii() and w[-1].isalpha() else re.escape(w)
                    for w in longest_first)  # fmt: skip


FOUND = re.compile(
    rf"(?P<before>[$€£¥])?\s?(?P<number>{NUMBER})\s?-?(?P<scale>{_any_of({**SCALES})})?\s?"
    rf"(?P<after>{_any_of({**CURRENCIES})})?",
    re.IGNORECASE,
)
MARKED = re.compile(r"(?:answer|答案)\s*(?:(?:is|为|是)\s*:?|:)|####", re.IGNORECASE)
LINE = re.compile(r"\s*[^\n]*")
LONGEST = 20_000
"""Characters of an answer that are read: its end."""


@dataclass(frozen=True)
class Params:
    gold: str
    """Field of the row that holds the right answer, with its unit: "5.25 %"."""
    relative: float
    """How far an answer may be from it, as a share of it."""


@dataclass(frozen=True)
class Quantity:
    """A number as it was written, its unit's size (None: it has none) and its currency."""

    number: float
    scale: float | None
    currency: str | None
    text: str


def score(answer: Answer, row: Row, params: Params) -> Score:
    """Right where the number is within the tolerance of the right one, both in one unit."""
    return best_reading(
        lambda text, gold: read_close(text, gold, params.relative), answer, row[params.gold]
    )


def quantity(text: str, *, scaled: bool = False) -> Quantity | None:
    """The number after the last "Answer:" that one follows, behind its line's last "=" where that
    stands there; else the text's last number. None: there is none.

    scaled: of "0.0525 (5.25 %)", a line that says it twice, the one with a unit
    """
    plain = unicodedata.normalize("NFKC", text[-LONGEST:]).replace("\u2212", "-")
    plain = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", plain)
    plain = plain.replace("\\times", "×").replace("\\", "").replace("**", "")
    until = len(plain)
    for marked in reversed(list(MARKED.finditer(plain))):
        line = LINE.match(plain, marked.end(), until)
        begin = marked.end() if line is None else max(marked.end(), plain.rfind("=", *line.span()))
        first = FOUND.search(plain, begin, until)
        if first is None:  # nothing from here on: an earlier mark need not look again
            until = marked.start()
            continue
        end = plain.find("\n", first.end())
        beside = FOUND.finditer(plain, first.end(), len(plain) if end < 0 else end)
        twice = next((one for one in beside if one["scale"] is not None), None)
        return _quantity(twice if scaled and first["scale"] is None and twice else first)
    last = None
    for found in FOUND.finditer(plain):
        last = found
    return None if last is None else _quantity(last)


def _quantity(found: re.Match[str]) -> Quantity | None:
    written = re.sub(r"[\s,{}^]", "", found["number"])
    number = float(re.sub(r"[x*×]10", "e", written, flags=re.IGNORECASE))
    if not math.isfinite(number):
        return None
    scale = None if found["scale"] is None else SCALES[found["scale"].lower()]
    unit = found["before"] or found["after"]
    currency = None if unit is None else CURRENCIES[unit.lower()]
    return Quantity(number, scale, currency, " ".join(found[0].split()))


def read_close(text: str, gold: str, relative: float) -> Reading:
    """Whether a text's number is within `relative` of the right one. A number without a unit is one
    in the right answer's; one with a unit, such as % for a share, is converted."""
    wanted = quantity(gold)
    if wanted is None:
        raise CallFailure("bad_input", f"Cannot score against {gold!r}: it holds no number")
    said = quantity(text, scaled=wanted.scale is not None)
    if said is None:
        return Reading(None, False)
    if None not in (said.currency, wanted.currency) and said.currency != wanted.currency:
        return Reading(said.text, False)
    size = wanted.scale or 1.0
    right, given = wanted.number * size, said.number * (size if said.scale is None else said.scale)
    near = abs(given - right) <= relative * abs(right) + 1e-12 * size
    return Reading(said.text, near)
