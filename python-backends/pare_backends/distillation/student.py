"""Whether a student can learn from a teacher: its weights can be trained, and it reads the same
tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context

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


def check_floats(checkpoint: Checkpoint, context: Context) -> None:
    """Raises, before any work, where the parent's weights cannot all be trained and stored as they
    were: integers on a grid, an adapter beside them, experts in one tensor."""
    layout = context.layout
    if layout.problems or layout.experts:
        why = layout.problems[0] if layout.problems else "some are a mixture's experts"
        raise CallFailure("invalid", f"Cannot train this model's weights: {why}")
    checkpoint.check_replaceable({*layout.linear, *checkpoint.stored})


def check_tokenizers(student: Path, teacher: Path) -> None:
    """Raises "bad_input" with the first difference, where the two do not read the same tokens: then
    what the teacher says of a token is about another one of the student's."""
    if same_file(student / FILE, teacher / FILE):
        return
    difference = first_difference(load_tokenizer(student), load_tokenizer(teacher))
    if difference is None:
        return
    raise CallFailure(
        "bad_input",
        f"Cannot distill into {student}: its tokenizer is another one than the teacher's:"
        f" {difference}",
        hint="Take a student with the teacher's own tokenizer",
    )


def same_file(one: Path, other: Path) -> bool:
    """Whether both are there and hold the same bytes."""
    return one.is_file() and other.is_file() and one.read_bytes() == other.read_bytes()


def first_difference(student: Any, teacher: Any) -> str | None:
    """In words; None: their vocabularies are equal, and so are the encodings of the probes."""
    own, theirs = student.get_vocab(), teacher.get_vocab()
    for token, number in sorted(theirs.items(), key=lambda entry: entry[1]):
        if own.get(token) != number:
            found = f"is {own[token]}" if token in own else "is missing"
            return f"the token {token!a:.40} {found} in the student's, {number} in the teacher's"
    if len(own) > len(theirs):
        token = min(set(own) - set(theirs), key=lambda one: own[one])
        return f"the token {token!a:.40} is {own[token]} in the student's, missing in the teacher's"
    for text in PROBES:
        read, wanted = student(text).input_ids, teacher(text).input_ids
        if read != wanted:
            return f"{text!a:.40} is {len(read)} tokens by the student's, {len(wanted)} by the" + (
                " teacher's" if len(read) != len(wanted) else " teacher's, and others"
            )
    return None
