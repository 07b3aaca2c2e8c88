"""The model that judges answers, behind a server of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.endpoint import Endpoint, Judge, key_of_environment
from pare_backends.evaluation.served.model import ServedLM
from pare_backends.progress import Report


def judge_opener(
    judge: Judge, endpoint: Endpoint | None, answers_path: Path | None, report: Report
) -> Callable[[], ServedLM]:
    """Opens the judge, once; what it says is kept as a served model's answers are."""

    @functools.cache
    def opened() -> ServedLM:
        key = key_of_judge(judge, endpoint)
        client = ServedClient(judge, key, None, judge.key_variable, report.waiting)
        model = ServedLM(client, None, report, Answers(answers_path))
        model.label = "judge"
        return model

    return opened


def key_of_judge(judge: Judge, endpoint: Endpoint | None) -> str | None:
    """That of its own variable; that of the evaluated endpoint only where the judge is on the same
    server: a key is not sent to anyone else."""
    own = key_of_environment(judge.key_variable)
    if own is not None or endpoint is None:
        return own
    same = urlsplit(judge.base_url)[:2] == urlsplit(endpoint.base_url)[:2]
    return key_of_environment() if same else None
