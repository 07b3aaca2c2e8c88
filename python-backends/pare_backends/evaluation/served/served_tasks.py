"""The parts of the call `evaluate` that only a server needs: opening it, and going on with other
tasks where it cannot do one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pare_backends.evaluation.outcome import TaskOutcome
from pare_backends.evaluation.served.endpoint import Endpoint
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure
from pare_backends.progress import Report

OF_A_TASK = ("invalid", "bad_input", "not_a_number", "missing_environment")
"""Kinds of failure that leave model and machine fit for other tasks: what is missing may be the
sandbox alone."""


class Refusals:
    """Tasks that could not be measured, with their reasons; the others are."""

    def __init__(self) -> None:
        self.rows: list[dict[str, str | None]] = []
        """Task, kind, message and hint of each, as the wire has them."""

    @contextmanager
    def of(self, task: WireTask, also: Sequence[str] = ()) -> Iterator[None]:
        """The block measures the task; a failure that is the task's own, or of a kind of `also`, is
        kept."""
        try:
            yield
        except CallFailure as failure:
            if failure.kind not in (*OF_A_TASK, *also):
                raise
            self.add(task, failure)

    def require_some(self, measured: Sequence[TaskOutcome | WireTask]) -> None:
        """Fails as the first task did where none was measured."""
        if measured or not self.rows:
            return
        messages = dict.fromkeys(str(row["message"]) for row in self.rows)
        raise CallFailure(str(self.rows[0]["kind"]), "; ".join(messages), self.rows[0]["hint"])

    def add(self, task: WireTask, failure: CallFailure) -> None:
        """Keeps a failure with the task that it is of."""
        self.rows.append(
            {
                "task": task.task,
                "kind": failure.kind,
                "message": failure.message,
                "hint": failure.hint,
            }
        )


def open_served(
    endpoint: Endpoint, answers_path: str | None, report: Report
) -> tuple[Any, Any, str]:
    """Model, tokenizer and a phrase on where it ran."""
    from pare_backends.evaluation.served.open_served import served_model

    path = None if answers_path is None else Path(answers_path)
    model, tokenizer = served_model(endpoint, path, report)
    return model, tokenizer, f"served as {model.client.model} by {model.client.base_url}"
