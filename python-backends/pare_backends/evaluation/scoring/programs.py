"""Tasks whose answers are programs: whether they can be run here, and how they are kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pare_backends.evaluation.served.served_tasks import Refusals
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.progress import Report
from pare_backends.sandbox.verdict import require_sandbox


def has_programs(task: WireTask) -> bool:
    """Whether the task's own scorer runs what the model writes."""
    return "programs" in task.scorers[0].reads


def runnable(
    tasks: Sequence[WireTask], allow_unsafe_code: bool, report: Report, refusals: Refusals
) -> list[WireTask]:
    """The tasks that can be measured here: those whose answers are programs are refused where no
    sandbox can be had, unless that is allowed. Called before a model is loaded; fails where
    nothing is left."""
    names = [
        task.task for task in tasks if any("programs" in scorer.reads for scorer in task.scorers)
    ]
    if names and allow_unsafe_code:
        report.alert(
            "unsafe_code", f"the programs written for {', '.join(names)} run without a sandbox"
        )
    left: list[WireTask] = []
    for task in tasks:
        with refusals.of(task):
            if task.task in names and not allow_unsafe_code:
                require_sandbox()
            left.append(task)
    refusals.require_some(left)
    return left


def listed(texts: Sequence[str]) -> str:
    """Every different program with how often it was given, as JSON."""
    times = Counter(texts)
    programs = [{"times": count, "answer": text} for text, count in times.items()]
    return json.dumps(programs, ensure_ascii=False)


def unlisted(answer: str) -> list[str]:
    """The programs of such a list, each as often as it was given. Raises `ValueError` for what is
    none."""
    programs = json.loads(answer)
    if not isinstance(programs, list):
        raise ValueError(f"no list of programs: {answer[:40]!r}")
    return [str(one["answer"]) for one in programs for _ in range(int(one["times"]))]


def cut_programs(answer: str, chars: int) -> str:
    """A list of programs with so many characters of each, and still JSON."""
    programs: list[dict[str, Any]] = json.loads(answer)
    cut = [{**one, "answer": one["answer"][:chars]} for one in programs]
    return json.dumps(cut, ensure_ascii=False)
