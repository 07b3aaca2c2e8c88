"""Call `score`: answers that are kept are scored again; no model is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.scoring.beside import Output, score_beside
from pare_backends.evaluation.scoring.context import Surroundings
from pare_backends.evaluation.scoring.judges import judge_openers
from pare_backends.evaluation.scoring.kept import kept_answers
from pare_backends.evaluation.scoring.programs import runnable
from pare_backends.evaluation.scoring.protocol import named_part
from pare_backends.evaluation.served.endpoint import Judge
from pare_backends.evaluation.served.served_tasks import Refusals
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.wire_task import WireScorer, WireTask
from pare_backends.progress import Report


@dataclass(frozen=True)
class ScoreFile:
    """The samples of one evaluation."""

    samples_path: str
    fidelity: str
    output_name: str
    """How files beside the samples file are to begin."""


@dataclass(frozen=True)
class ScoreRequest:
    """Request of the call, as in `core/schemas/scoring/scored.ts`."""

    task: WireTask
    scorers: list[WireScorer]
    """Those that are asked for, the task's own or any other."""
    files: list[ScoreFile]
    answers_path: str | None
    """What judges and sandboxes said, kept; None: nowhere."""
    allow_unsafe_code: bool
    judge: Judge | None = None
    panel: list[Judge] = field(default_factory=list)
    """Further judges, of which the majority counts."""


def run(request: ScoreRequest, report: Report) -> dict[str, Any]:
    """What each scorer made of each file's answers. A scorer that could score nothing ends the
    call: what was written before is the caller's to remove."""
    task = request.task
    asking = replace(task, scorers=request.scorers)
    runnable([asking], request.allow_unsafe_code, report, Refusals())
    documents = None if task.window_tokens is not None else load_documents(task)
    path = None if request.answers_path is None else Path(request.answers_path)
    judges = judge_openers(request.judge, request.panel, None, path, report)
    around = Surroundings(report, Answers(path), not request.allow_unsafe_code, judges)
    found: list[list[dict[str, Any]]] = []
    with report.span("score"):
        for number, one in enumerate(request.files):
            samples = Path(one.samples_path)
            asked = kept_answers(task, samples, documents)
            output = Output(samples.parent, one.output_name, one.fidelity, None)
            of_file: list[dict[str, Any]] = []
            for scorer in request.scorers:
                scored, failure = score_beside(asked, scorer, around, output)
                if failure is not None:
                    raise failure
                of_file.append({**scored, "protocol_part": named_part(scorer)})
            found.append(of_file)
            report.progress(task.task, number + 1, len(request.files), "evaluations")
    return {"files": found}
