"""Scores answers by a scorer beside the task's own, and keeps what it gave."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.evaluation.asked import AskedTask
from pare_backends.evaluation.scoring.answer import Verdict
from pare_backends.evaluation.scoring.context import Scoring, Surroundings
from pare_backends.evaluation.scoring.score_files import write_scored
from pare_backends.evaluation.scoring.scorer import score_answers
from pare_backends.evaluation.scoring.summing import (
    beside_measurements,
    nothing_scored,
    unscored,
)
from pare_backends.evaluation.tasks.wire_task import WireScorer
from pare_backends.failures import CallFailure


@dataclass(frozen=True)
class Output:
    """Where what a scorer gave is kept, and how its figures are marked."""

    folder: Path
    """Of the samples file."""
    name: str
    """How the names of files begin."""
    fidelity: str
    device: str | None
    """Where the answers were given; None: it is not known any more."""


def score_beside(
    asked: AskedTask, scorer: WireScorer, around: Surroundings, output: Output
) -> tuple[dict[str, Any], CallFailure | None]:
    """A `ScoredTask` of `core/schemas/scoring/scored.ts`, and why it has no figure; None: it
    has."""
    scoring = Scoring(asked.task, scorer, asked.documents, asked.rows, asked.answers, around)
    scores = score_answers(scoring)
    for sentence in unscored(scoring, scores):
        around.report.alert("unscored", sentence)
    figures = beside_measurements(scoring, scores, asked.samples, output.fidelity, output.device)
    stem = f"{output.name}.{plain(asked.task.task)}.{plain(scorer.scorer)}"
    scored = {
        "task": asked.task.task,
        "scorer": scorer.scorer,
        "scorer_version": scorer.version,
        "params": scorer.params,
        "measurements": figures,
        **write_scored(output.folder, stem, scoring, scores, asked.samples),
        "judged": _judged([one for score in scores for one in score.verdicts]),
    }
    return scored, None if figures else nothing_scored(scoring, scores)


def _judged(verdicts: Sequence[Verdict]) -> dict[str, Any] | None:
    """Who judged and by which rubric; None: no judge was asked."""
    if not verdicts:
        return None
    version = verdicts[0].rubric_version
    return {
        "judges": sorted({one.judge for one in verdicts}),
        "rubric": None if version is None else verdicts[0].question.split(",")[0],
        "rubric_version": version,
    }


def plain(name: str) -> str:
    """A task's name as a part of a file's."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name)
