"""The parts of the stage `evaluate` that only a server needs: opening it, going on with other tasks
where it cannot do one, and the judge of generated answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from pare_backends.evaluation.outcome import TaskOutcome
from pare_backends.evaluation.served.endpoint import Endpoint, key_of_environment
from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import StageFailure
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
    def of(self, task: WireTask) -> Iterator[None]:
        """The block measures the task; a failure that is the task's own is kept."""
        try:
            yield
        except StageFailure as failure:
            if failure.kind not in OF_A_TASK:
                raise
            self.add(task, failure)

    def require_some(self, measured: Sequence[TaskOutcome | WireTask]) -> None:
        """Fails as the first task did where none was measured."""
        if measured or not self.rows:
            return
        messages = dict.fromkeys(str(row["message"]) for row in self.rows)
        raise StageFailure(str(self.rows[0]["kind"]), "; ".join(messages), self.rows[0]["hint"])

    def add(self, task: WireTask, failure: StageFailure) -> None:
        """Keeps a failure with the task that it is of."""
        self.rows.append(
            {
                "task": task.task,
                "kind": failure.kind,
                "message": failure.message,
                "hint": failure.hint,
            }
        )


class JudgeRequest(Protocol):
    """What judging needs of the stage's request."""

    @property
    def endpoint(self) -> Endpoint | None: ...
    @property
    def judge(self) -> Endpoint | None: ...
    @property
    def answers_path(self) -> str | None: ...
    @property
    def fidelity(self) -> str: ...


def open_served(
    endpoint: Endpoint, answers_path: str | None, report: Report
) -> tuple[Any, Any, str]:
    """Model, tokenizer and a phrase on where it ran."""
    from pare_backends.evaluation.served.open_served import served_model

    path = None if answers_path is None else Path(answers_path)
    model, tokenizer = served_model(endpoint, path, report)
    return model, tokenizer, f"served as {model.client.model} by {model.client.base_url}"


def judge_outcomes(
    request: JudgeRequest,
    outcomes: Sequence[TaskOutcome],
    documents: dict[str, Documents],
    device: str,
    report: Report,
    refusals: Refusals,
) -> tuple[list[TaskOutcome], list[dict[str, Any]]]:
    """The outcomes, with the judge's verdicts on every sample that can be judged, and its rates;
    as they are without a judge. What was measured without the judge stands where it fails."""
    judge = request.judge
    if judge is None:
        return list(outcomes), []
    from pare_backends.evaluation import judge as judging

    if not any(one.task.lm_eval_task == judging.JUDGED for one in outcomes):
        report.alert("judge_unused", "no task was measured whose answers the judge could read")
    path = None if request.answers_path is None else Path(request.answers_path)
    key = key_of_judge(judge, request.endpoint)
    found, rows = list(outcomes), list[dict[str, Any]]()
    for place, outcome in enumerate(outcomes):
        if outcome.task.lm_eval_task != judging.JUDGED:
            continue
        try:
            model = judging.judge_model(judge, key, path, report)
            read = documents[outcome.task.task]
            judged = replace(outcome, samples=judging.judge_answers(model, outcome, read))
            found[place] = judged
            for sentence in judging.unread_verdicts(judged.samples):
                report.alert("judge_unread", sentence)
            rows += judging.judged_measurements(judged, request.fidelity, device)
        except StageFailure as failure:
            refusals.add(outcome.task, failure)
    return found, rows


def key_of_judge(judge: Endpoint, endpoint: Endpoint | None) -> str | None:
    """JUDGE_API_KEY; that of the evaluated endpoint only where the judge is on the same server: a
    key is not sent to anyone else."""
    own = key_of_environment("JUDGE_API_KEY")
    if own is not None or endpoint is None:
        return own
    same = urlsplit(judge.base_url)[:2] == urlsplit(endpoint.base_url)[:2]
    return key_of_environment() if same else None
