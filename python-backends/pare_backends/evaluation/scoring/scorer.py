"""Finds a scorer's Python half and holds what it gives to what it declares."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from pare_backends.evaluation.scoring.answer import OWN, Answer, Score
from pare_backends.evaluation.scoring.context import Scoring
from pare_backends.evaluation.scoring.programs import has_programs
from pare_backends.evaluation.tasks.wire_task import WireScorer, WireTask
from pare_backends.failures import CallFailure, one_line
from pare_backends.method_file import load_own_file
from pare_backends.protocol import build

PACKAGE = "pare_backends.evaluation.scorers"


def module_of(scorer: WireScorer) -> ModuleType:
    """The Python half: `Params`, and `score` of one answer or `score_all` of many."""
    if scorer.python_path is not None:
        module = load_own_file(Path(scorer.python_path), "scorer", ("Params",))
    else:
        name = f"{PACKAGE}.{scorer.scorer}"
        if not scorer.scorer.isidentifier() or importlib.util.find_spec(name) is None:
            raise CallFailure(
                "bad_input", f'Cannot load the scorer "{scorer.scorer}": none is here'
            )
        module = importlib.import_module(name)
    if not hasattr(module, "score") and not hasattr(module, "score_all"):
        raise CallFailure(
            "bad_input",
            f"Cannot load the scorer {scorer.scorer}: it defines neither score nor score_all",
        )
    return module


def score_answers(scoring: Scoring) -> list[Score]:
    """A score for each of the answers. Raises `CallFailure` where the scorer fails, or gives
    what it does not declare."""
    scorer = scoring.scorer
    _require_form(scoring)
    module = module_of(scorer)
    params = build(module.Params, scorer.params, f"the knobs of {scorer.scorer}")
    try:
        scores = (
            list(module.score_all(scoring, params))
            if hasattr(module, "score_all")
            else _one_by_one(module, scoring, params)
        )
    except CallFailure:
        raise
    except Exception as error:  # whatever a third party's code raises
        raise CallFailure(
            "bad_input",
            f"Cannot score {scoring.task.task} by {scorer.scorer}: it fails with"
            f" {type(error).__name__}: {one_line(error, 160)}",
        ) from error
    named = [_named(score, scorer.metrics[0].metric) for score in scores]
    _check(scoring, named)
    return named


def _named(score: Score, own: str) -> Score:
    """The score with its own metric by the name that the task has for it."""
    if OWN not in score.values:
        return score
    values = {name: value for name, value in score.values.items() if name not in (OWN, own)}
    return replace(score, values={own: score.values[OWN], **values})


def _require_form(scoring: Scoring) -> None:
    """Raises where the scorer reads something else than the answers are."""
    if not scoring.answers:
        return
    form, reads = form_of(scoring.task, scoring.answers[0]), scoring.scorer.reads
    # One program a problem is a text.
    if form in reads or (form == "text" and "programs" in reads):
        return
    raise CallFailure(
        "bad_input",
        f"Cannot score {scoring.task.task} by {scoring.scorer.scorer}: it reads"
        f" {' or '.join(reads)}, and the answers are {form}",
    )


def form_of(task: WireTask, answer: Answer) -> str:
    """What an answer is, by the words of `AnswerForm` in `core/schemas/scoring/wire_scorer.ts`."""
    if answer.loss is not None:
        return "windows"
    if answer.likelihoods:
        return "choices"
    return "programs" if has_programs(task) else "text"


def _one_by_one(module: ModuleType, scoring: Scoring, params: Any) -> list[Score]:
    """Told as it goes: a scorer may take its time over each."""
    found: list[Score] = []
    name, total = scoring.task.task, len(scoring.rows)
    for row, answer in zip(scoring.rows, scoring.answers, strict=True):
        try:
            found.append(module.score(answer, scoring.row(row), params))
        except KeyError as error:
            raise CallFailure(
                "bad_input",
                f"Cannot score row {row} of {name} by {scoring.scorer.scorer}: it has no field"
                f" {error} (found: {', '.join(scoring.row(row))})",
            ) from error
        if len(found) % 1000 == 0:
            scoring.around.report.progress(f"{name} scores", len(found), total, "samples")
    return found


def _check(scoring: Scoring, scores: Sequence[Score]) -> None:
    scorer = scoring.scorer
    told = f"Cannot score {scoring.task.task} by {scorer.scorer}"
    if len(scores) != len(scoring.answers):
        raise CallFailure(
            "bad_input", f"{told}: it gives {len(scores)} scores for {len(scoring.answers)} answers"
        )
    declared = {one.metric for one in scorer.metrics}
    for row, score in zip(scoring.rows, scores, strict=True):
        given = set(score.values)
        if given - declared:
            raise CallFailure(
                "bad_input",
                f"{told}: it gives {', '.join(sorted(given - declared))} and declares"
                f" {', '.join(sorted(declared))}",
            )
        if declared - given and score.why is None:
            raise CallFailure(
                "bad_input",
                f"{told}: it gives row {row} no {', '.join(sorted(declared - given))} and does not"
                " say why",
            )
