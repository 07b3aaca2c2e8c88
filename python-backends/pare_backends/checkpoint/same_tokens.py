"""Whether two tokenizers read the same tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pare_backends.checkpoint.load import load_tokenizer

FILE = "tokenizer.json"
PROBES = (
    "The capital of France is Paris.",
    "  Two spaces, a\ttab\nand a new line.\n\n",
    "def add(a, b):\n    return a + b  # 3.14159 + 1e-5",
    "Grüße aus Zürich, naïve café, 日本語のテキスト, русский текст, العربية, 🙂",
    "don't WON'T iPhone12 2026-11-22 https://example.org/a?b=c&d=e",
    "where does the red fox live ? the red fox lives in the",
)
"""Texts that tokenizers differ in: spaces, case, digits, scripts, code."""


def tokenizers_differ(own: Path, other: Path, whose: tuple[str, str]) -> str | None:
    """The first difference of the tokenizers in two directories, in words; None: vocabularies and
    the encodings of the probes are equal.

    whose: as the sentence calls what each of them has, such as "the student's"
    """
    if same_file(own / FILE, other / FILE):
        return None
    return first_difference(load_tokenizer(own), load_tokenizer(other), whose)


def same_file(one: Path, other: Path) -> bool:
    """Whether both are there and hold the same bytes."""
    return one.is_file() and other.is_file() and one.read_bytes() == other.read_bytes()


def first_difference(own: Any, other: Any, whose: tuple[str, str]) -> str | None:
    """The same of two tokenizers."""
    mine, theirs = own.get_vocab(), other.get_vocab()
    for token, number in sorted(theirs.items(), key=lambda entry: entry[1]):
        if mine.get(token) != number:
            found = f"is {mine[token]}" if token in mine else "is missing"
            return f"the token {token!a:.40} {found} in {whose[0]}, {number} in {whose[1]}"
    if len(mine) > len(theirs):
        token = min(set(mine) - set(theirs), key=lambda one: mine[one])
        return f"the token {token!a:.40} is {mine[token]} in {whose[0]}, missing in {whose[1]}"
    for text in PROBES:
        read, wanted = own(text).input_ids, other(text).input_ids
        if read != wanted:
            others = "" if len(read) != len(wanted) else ", and others"
            return (
                f"{text!a:.40} is {len(read)} tokens by {whose[0]}, {len(wanted)} by {whose[1]}"
                + others
            )
    return None
