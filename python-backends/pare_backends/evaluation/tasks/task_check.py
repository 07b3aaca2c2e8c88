"""Whether a task that is no plugin can be asked at all: seen before a model is loaded."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.task_document import refuse
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure, one_line

ROWS = 200
"""Rows whose questions are written out: a template costs a millisecond a row."""


def check_task(task: WireTask, documents: Documents) -> None:
    """Writes out the first questions with their answers, as lm-eval will. Raises `CallFailure`
    that names the row."""
    if task.origin == "plugin" or task.window_tokens is not None:
        return
    from pare_backends.evaluation.tasks.lm_task import build_task  # imports lm-eval: seconds

    rows = range(min(ROWS, len(documents.rows)))
    try:
        built = build_task(task, documents, rows)
    except CallFailure:
        raise
    except Exception as error:  # whatever a template or the code of a task raises
        said = _told(error, documents.rows[0])
        raise refuse(task.task, f"row 0 of its data cannot be asked: {said}") from error
    for row, document in zip(rows, built.eval_docs, strict=True):
        try:
            reason = _wrong(built, document)
        except Exception as error:
            reason = _told(error, document)
        if reason is not None:
            raise refuse(task.task, f"row {row} of its data cannot be asked: {reason}")


def _wrong(built: Any, document: Mapping[str, Any]) -> str | None:
    """What is wrong with a row as a question; None: nothing."""
    text, target = built.doc_to_text(document), built.doc_to_target(document)
    if built.OUTPUT_TYPE != "multiple_choice":
        return None
    choices = built.doc_to_choice(document)
    if not isinstance(choices, list) or len(choices) < 2:
        return f"its doc_to_choice must give a list of two or more, not {choices!r:.60}"
    right = text if built.multiple_input else target
    for one in right if isinstance(right, list) else [right]:
        if isinstance(one, int) and not 0 <= one < len(choices):
            return f"its answer is choice {one}, and it has {len(choices)}"
        if isinstance(one, str) and one not in choices:
            return f"its answer {one!r:.40} is none of its choices"
    return None


def _told(error: Exception, row: Mapping[str, Any]) -> str:
    """An error of a template or of a task's code, with the field that may have been meant."""
    said = one_line(error, 160)
    missing = said.split("'")[1] if said.endswith("is undefined") and "'" in said else ""
    near = difflib.get_close_matches(missing, [str(key) for key in row], n=1)
    hint = f' Did you mean "{near[0]}"?' if near else ""
    if isinstance(error, IndexError):
        said = "an answer or a choice that is not there is pointed at"
    return f"{type(error).__name__}: {said.rstrip('.')}{'.' if hint else ''}{hint}"
