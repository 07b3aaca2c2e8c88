"""Reads a judge's reply: JSON as it was asked for, else mended once.

Mended is what models do to JSON: a fence around it, text before or behind it, comments, single
quotes, keys without quotes, commas too many, and an end that is missing. Nothing is guessed: each
criterion must be there, once or with one value, and within the scale. json-repair does more, such
as closing what never began, and would make numbers of a reply that has none; it would also be a
package more for everyone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST = 20_000
"""Characters of a reply that are read: its end."""
MOST_OBJECTS = 50
THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
SKIPPED = re.compile(r"(?:\s|,|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_ -]*")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
WORD = re.compile(r"true|false|null|none", re.IGNORECASE)
WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None}


@dataclass(frozen=True)
class Read:
    """What a reply says."""

    values: Mapping[str, Any]
    mended: bool


def read_reply(text: str, names: Sequence[str], allowed: Sequence[Any]) -> Read | None:
    """The value of each name, one of `allowed`; None: it does not say them all."""
    plain = THOUGHT.sub("", text[-LONGEST:]).strip()
    try:
        whole = json.loads(plain, object_pairs_hook=_once_each)
    except (ValueError, RecursionError):
        whole = None
    values = _values(whole, names, allowed) if isinstance(whole, dict) else None
    if values is not None:
        return Read(values, mended=False)
    found: list[Mapping[str, Any]] = []
    end = 0
    for start in [match.start() for match in re.finditer(r"\{", plain)][:MOST_OBJECTS]:
        if start < end:
            continue  # inside of one that was read
        said, end = _object(plain, start)
        values = None if said is None else _values(said, names, allowed)
        if values is not None:
            found.append(values)
    # Of several objects the last is its conclusion.
    return Read(found[-1], mended=True) if found else None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises `ValueError` where a name has two values: nobody knows which is meant."""
    found = dict(pairs)
    if any(found[name] != value for name, value in pairs):
        raise ValueError("a name stands twice")
    return found


def _values(
    said: Mapping[str, Any], names: Sequence[str], allowed: Sequence[Any]
) -> dict[str, Any] | None:
    found = {name: _value(said.get(name), allowed) for name in names}
    return None if None in found.values() else found


def _value(given: Any, allowed: Sequence[Any]) -> Any:
    """None: it is none of them."""
    if isinstance(given, bool):
        given = int(given) if tuple(allowed) == (0, 1) else None
    if isinstance(given, str):
        plain = given.strip()
        named = next((one for one in allowed if str(one).lower() == plain.lower()), None)
        return named
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    return given if given in allowed else None


def _object(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """A flat object that begins here, and where it ends; None: it is none, or says a name twice
    with two values. A list or an object inside ends it."""
    said: dict[str, Any] = {}
    at = start + 1
    while True:
        at = _skip(text, at)
        if at >= len(text):
            return said, at
        if text[at] == "}":
            return said, at + 1
        key, at = _key(text, at)
        at = _skip(text, at)
        if key is None or at >= len(text) or text[at] not in ":=":
            return (said, at) if key is not None and at >= len(text) else (None, start + 1)
        value, at, whole = _scalar(text, _skip(text, at + 1))
        if not whole:
            return said, at  # what is cut here says nothing of this name
        if key in said and said[key] != value:
            return None, start + 1
        said[key] = value


def _skip(text: str, at: int) -> int:
    found = SKIPPED.match(text, at)
    return at if found is None else found.end()


def _key(text: str, at: int) -> tuple[str | None, int]:
    if text[at] in "\"'":
        value, end, _ = _quoted(text, at)
        return value.strip(), end
    found = BARE.match(text, at)
    return (None, at) if found is None else (found[0].strip(), found.end())


def _scalar(text: str, at: int) -> tuple[Any, int, bool]:
    """A value, where it ends, and whether it is whole."""
    if at >= len(text):
        return None, at, False
    if text[at] in "\"'":
        return _quoted(text, at)
    found = NUMBER.match(text, at)
    if found is not None:
        # A number at the very end may have lost a digit.
        return float(found[0]), found.end(), found.end() < len(text)
    word = WORD.match(text, at)
    if word is not None:
        return WORDS[word[0].lower()], word.end(), True
    bare = BARE.match(text, at)
    if bare is not None:
        return bare[0].strip(), bare.end(), bare.end() < len(text)
    return None, at, False


def _quoted(text: str, at: int) -> tuple[str, int, bool]:
    """A text in quotes; not whole: its end is missing."""
    quote, begin = text[at], at + 1
    at = begin
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == quote:
            return text[begin:at], at + 1, True
        else:
            at += 1
    return text[begin:], len(text), False
