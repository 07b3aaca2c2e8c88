"""JSON as both sides of pare read it (`tracker/lab/data/parse_json.ts`): they refuse the same.

Python's reader takes more than JSON (NaN, Infinity) and makes an infinity of 1e999; halves of
characters and deep nests end in the middle of a study.
"""

from __future__ import annotations

import json
import math
from typing import Any

LONGEST_LINE = 10_000_000
"""Bytes of one row."""
LARGEST_FILE = 500_000_000
"""Bytes of a file of rows, unpacked: what a string of the other side holds."""
DEEPEST = 64
BYTE_ORDER_MARK = "\ufeff"


class NoJson(ValueError):
    """Why a text is no JSON that can be used; the whole of a sentence's reason."""


def parse_json(text: str) -> Any:
    """The value of a text. Raises `NoJson`."""
    if len(text.encode("utf-8", errors="surrogatepass")) > LONGEST_LINE:
        raise NoJson(f"it is longer than {LONGEST_LINE // 1_000_000} MB: cut it into several rows")
    return parse_whole(text)


def parse_whole(text: str) -> Any:
    """The same for a text that holds all rows of a file."""
    try:
        value = json.loads(text, parse_float=_number, parse_int=_whole, parse_constant=_constant)
    except RecursionError:
        raise NoJson(_too_deep()) from None
    except NoJson:
        raise
    except ValueError as error:
        raise NoJson(f"it is no JSON: {error}") from error
    check_value(value)
    return value


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NoJson(f"it holds {_shown(text)}, which is too large for a number")
    return value


def _whole(text: str) -> int:
    _number(text)
    return int(text)


def _constant(text: str) -> float:
    raise NoJson(f"it is no JSON: {text} is no number there")


def check_value(value: Any, most: float = math.inf) -> None:
    """Raises `NoJson` for what lies too deep, for halves of characters, and where more than `most`
    values are in it: in YAML a few lines may stand for billions."""
    waiting, seen = [(value, 1)], 0
    while waiting:
        one, depth = waiting.pop()
        seen += 1
        if seen > most:
            raise NoJson(f"it stands for more than {most} values")
        if isinstance(one, str):
            _require_whole(one)
        elif isinstance(one, dict | list):
            if depth > DEEPEST:
                raise NoJson(_too_deep())
            inner = one.values() if isinstance(one, dict) else one
            waiting += [(item, depth + 1) for item in inner]
            if isinstance(one, dict):
                waiting += [(name, depth) for name in one]


def _require_whole(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = f"\\u{ord(text[error.start]):04x}"
        raise NoJson(f"it holds half a character ({code} without its other half)") from None


def _too_deep() -> str:
    return f"it is nested more than {DEEPEST} deep"


def _shown(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
