"""Whether a student can learn from a teacher: its weights can be trained, and it reads the same
tokens."""

from __future__ import annotations

from pathlib import Path

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.same_tokens import tokenizers_differ
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context


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
    difference = tokenizers_differ(student, teacher, ("the student's", "the teacher's"))
    if difference is None:
        return
    raise CallFailure(
        "bad_input",
        f"Cannot distill into {student}: its tokenizer is another one than the teacher's:"
        f" {difference}",
        hint="Take a student with the teacher's own tokenizer",
    )
