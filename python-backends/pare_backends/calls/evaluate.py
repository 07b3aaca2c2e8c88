"""Call `evaluate`: quality of an artifact on every task, from one load of the model."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pare_backends.evaluation.asked import AskedTask, TaskRows
from pare_backends.evaluation.harness import ask_harness
from pare_backends.evaluation.likelihood import run_likelihood
from pare_backends.evaluation.markets.ask_episodes import ask_episodes
from pare_backends.evaluation.markets.settings import market_settings
from pare_backends.evaluation.outcome import TaskOutcome, measurements
from pare_backends.evaluation.perplexity import ask_windows, windows
from pare_backends.evaluation.samples_file import write_samples
from pare_backends.evaluation.scoring.beside import Output, score_beside
from pare_backends.evaluation.scoring.context import Surroundings
from pare_backends.evaluation.scoring.judges import judge_openers
from pare_backends.evaluation.scoring.programs import runnable
from pare_backends.evaluation.scoring.summing import scored_outcome
from pare_backends.evaluation.served.endpoint import Endpoint, Judge
from pare_backends.evaluation.served.served_tasks import Refusals
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.lm_groups import group_measurements
from pare_backends.evaluation.tasks.records import file_sha256
from pare_backends.evaluation.tasks.wire_task import SampleSelection, WireTask
from pare_backends.failures import CallFailure
from pare_backends.kept_memory import keep_freed_memory
from pare_backends.measuring.answering import (
    BesideSetting,
    EvaluationRuntime,
    Opened,
    OriginalModel,
    open_answering,
    original_answers,
)
from pare_backends.progress import Report

if TYPE_CHECKING:
    from pare_backends.evaluation.served.model import ServedLM


@dataclass(frozen=True)
class EvaluateRequest:
    """Request of the call, as in `core/calls/declared/evaluate.ts`."""

    artifact_dir: str
    tasks: list[WireTask]
    selections: list[SampleSelection]
    fidelity: str
    """The rung's name: what the figures are marked with."""
    batch_size: int
    samples_path: str
    seed: int
    batched_apart: list[SampleSelection]
    answers_path: str | None
    runtime: EvaluationRuntime | None
    answer_chars: int = 4000
    """Of each answer that are stored."""
    allow_unsafe_code: bool = False
    """Programs that the model writes run without a sandbox."""
    endpoint: Endpoint | None = None
    judge: Judge | None = None
    panel: list[Judge] = field(default_factory=list)
    """Further judges, of which the majority counts."""
    chat_template: bool = False
    weights_dir: str | None = None
    """Of a setting: where its weights lie."""
    original: OriginalModel | None = None
    """None: nothing is compared."""
    likelihood: bool = False
    """The original's own answers are scored, and none is generated but by the original."""
    evict_after: Literal["context"] | None = None
    """A cache is cut after each sample's context, and what follows alone is scored."""
    beside: list[BesideSetting] = field(default_factory=list)
    """Other settings of the same weights, whose answers to prompts that are read are kept for their
    own evaluations."""


@dataclass(frozen=True)
class Measured:
    """A task that was asked and scored."""

    outcome: TaskOutcome
    asked: AskedTask | None
    """None: no answer of the model's own was scored."""


def run(request: EvaluateRequest, report: Report) -> dict[str, Any]:
    """Measures every task on its selected rows; writes the samples as a Parquet file."""
    keep_freed_memory()
    refusals = Refusals()
    asked = _read(request, report, refusals)
    opened = _open(request, asked, report)
    judges = _judges(request, asked, report)
    sandboxed = not request.allow_unsafe_code
    around = Surroundings(report, opened.reader.answers, sandboxed, judges)
    with report.span("evaluate", library=True):
        measured = _measure(request, asked, opened, around, refusals)
    outcomes = [one.outcome for one in measured]
    refusals.require_some(outcomes)
    scored = _score_beside(request, measured, around, opened.device, refusals)
    return {**_told(request, opened, outcomes), "refused": refusals.rows, "scored": scored}


def _read(request: EvaluateRequest, report: Report, refusals: Refusals) -> list[TaskRows]:
    """What is to be measured; tasks that cannot be are left to the refusals."""
    _require_name(request.fidelity)
    chosen = {selection.task: selection for selection in request.selections}
    for task in request.tasks:
        if task.task not in chosen or not chosen[task.task].rows:
            raise CallFailure("bad_input", f"Cannot evaluate {task.task}: no rows are selected")
    apart: dict[str, list[set[int]]] = {}
    for selection in request.batched_apart:
        apart.setdefault(selection.task, []).append(set(selection.rows))
    return [
        TaskRows(
            task,
            load_documents(task),
            sorted(set(chosen[task.task].rows)),
            apart.get(task.task, []),
            chosen[task.task].weigh_strata,
        )
        for task in runnable(request.tasks, request.allow_unsafe_code, report, refusals)
    ]


def _open(request: EvaluateRequest, asked: Sequence[TaskRows], report: Report) -> Opened:
    """The model that answers, once it is known that it can be asked all this."""
    with report.span("load", library=True):
        if any(one.task.window_tokens is None for one in asked):
            importlib.import_module("lm_eval.models.huggingface")  # 2 s, lm-eval's own
        opened = open_answering(request, report)
    _require_scorable(request, opened.reader.model)
    for one in asked:
        _require_rows(one, opened.reader.tokenizer)
    return opened


def _told(
    request: EvaluateRequest, opened: Opened, outcomes: Sequence[TaskOutcome]
) -> dict[str, Any]:
    """Figures and counts of what was measured; the samples are written."""
    path = Path(request.samples_path)
    write_samples(path, outcomes, request.answer_chars)
    return {
        "measurements": [
            {**m, "method": f"{m['method']}; {opened.numerics}", **_in_runtime(request, opened, m)}
            for outcome in outcomes
            for m in measurements(outcome, request.fidelity, opened.device)
        ]
        + group_measurements(outcomes, request.fidelity, opened.device),
        "samples": sum(len(outcome.samples) for outcome in outcomes),
        "requests": sum(outcome.asked for outcome in outcomes),
        "reused_requests": sum(outcome.reused for outcome in outcomes),
        "samples_sha256": file_sha256(path),
        "protocol": {outcome.task.task: outcome.protocol for outcome in outcomes},
        "protocol_parts": {outcome.task.task: outcome.protocol_parts for outcome in outcomes},
    }


def _require_name(fidelity: str) -> None:
    if re.fullmatch("[a-z][a-z0-9_]{0,31}", fidelity) is None:
        raise CallFailure(
            "bad_input",
            f"Cannot evaluate on the rung {fidelity!r}: a name is at most 32 small letters, digits"
            " and _",
        )


def _require_rows(asked: TaskRows, tokenizer: Any) -> None:
    task, rows, documents = asked.task, asked.rows, asked.documents
    is_text = task.window_tokens is not None
    total = len(windows(task, documents, tokenizer)) if is_text else len(documents.rows)
    if rows[0] < 0 or rows[-1] >= total:
        wrong = rows[0] if rows[0] < 0 else rows[-1]
        raise CallFailure(
            "bad_input", f"Cannot evaluate row {wrong} of {task.task}: it has {total} rows"
        )


def _require_scorable(request: EvaluateRequest, model: Any) -> None:
    """Raises where what would be measured says nothing of what the model keeps."""
    from pare_backends.cache.policy import chooses_by_content, policy_of

    if request.evict_after is not None and request.endpoint is not None:
        raise CallFailure(
            "bad_input", "Cannot cut the cache of a model behind a server after a context"
        )
    policy = policy_of(model)
    if policy is not None and chooses_by_content(model) and request.evict_after is None:
        raise CallFailure(
            "bad_input",
            f"Cannot score whole texts where {policy.words()} are kept: what is kept depends on"
            " what was read, and one pass over a text says nothing of it",
            hint='Evaluate with evict_after "context", as a study does that names the method',
        )


def _in_runtime(request: EvaluateRequest, opened: Opened, row: dict[str, Any]) -> dict[str, Any]:
    """A runtime's figure has a name of its own: no ranking takes it for the evaluation's."""
    if request.runtime is None:
        return {}
    name = request.runtime.name
    return {
        "metric": f"runtime_{row['metric']}",
        "runtime": name,
        "numerics": opened.reader.model.numerics,
    }


def _judges(
    request: EvaluateRequest, asked: Sequence[TaskRows], report: Report
) -> list[Callable[[], ServedLM]]:
    """Opens the judges that were named; none: none was."""
    judged = any(one.judges for rows in asked for one in rows.task.scorers)
    if request.judge is not None and not judged:
        report.alert("judge_unused", "no task was measured whose answers the judge could read")
    path = None if request.answers_path is None else Path(request.answers_path)
    return judge_openers(request.judge, request.panel, request.endpoint, path, report)


def _measure(
    request: EvaluateRequest,
    asked: Sequence[TaskRows],
    opened: Opened,
    around: Surroundings,
    refusals: Refusals,
) -> list[Measured]:
    """Every task asked and scored by its own scorer; one that cannot be is left to the refusals."""
    found: list[Measured] = []
    for one in asked:
        with refusals.of(one.task):
            markets = market_settings(one.task.definition or {})
            if one.task.window_tokens is not None:
                answers = ask_windows(one, opened.reader)
            elif markets is not None:
                _require_generated(request, one.task)
                answers = ask_episodes(one, markets, opened.packed())
            elif request.likelihood:
                source = original_answers(opened.reader, request.chat_template)
                found.append(Measured(run_likelihood(one, opened.packed(), source), None))
                continue
            else:
                answers = ask_harness(one, opened.packed())
            found.append(Measured(scored_outcome(answers, around, one.weighed), answers))
    return found


def _require_generated(request: EvaluateRequest, task: WireTask) -> None:
    if request.likelihood:
        raise CallFailure(
            "invalid",
            f"Cannot score the original's answers to {task.task}: what a trader is shown depends on"
            " what it answered before",
        )


def _score_beside(
    request: EvaluateRequest,
    measured: Sequence[Measured],
    around: Surroundings,
    device: str,
    refusals: Refusals,
) -> list[dict[str, Any]]:
    """What the other scorers of each task make of its answers. What was measured without one stands
    where it fails; one that asks a judge is left out where none is named."""
    path, found = Path(request.samples_path), list[dict[str, Any]]()
    output = Output(path.parent, path.stem, request.fidelity, device)
    for asked in [one.asked for one in measured if one.asked is not None]:
        for scorer in asked.task.scorers[1:]:
            if scorer.judges and not around.judges:
                continue
            timed = around.report.span("score", library=True)
            with timed, refusals.of(asked.task, also=("endpoint",)):
                scored, failure = score_beside(asked, scorer, around, output)
                found.append(scored)
                if failure is not None:
                    raise failure
    return found
