"""lm-evaluation-harness's own filter and metric, over answers that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pare_backends.evaluation.scoring.answer import OWN, Answer, Score
from pare_backends.evaluation.scoring.context import Scoring
from pare_backends.evaluation.tasks.groups import split_rows
from pare_backends.evaluation.tasks.lm_task import build_task
from pare_backends.failures import CallFailure


@dataclass(frozen=True)
class Params:
    metric: str | None
    """lm-eval's metric and filter, such as acc_norm,none; None: the task's own."""


def score_all(scoring: Scoring, params: Params) -> list[Score]:
    """Each answer by the task's own document; a task of groups group by group, as each has a
    document."""
    documents = scoring.documents.rows
    answers = dict(zip(scoring.rows, scoring.answers, strict=True))
    found: dict[int, Score] = {}
    for part in split_rows(scoring.task.groups, documents, scoring.rows):
        scores = _score_part(scoring, part, [answers[row] for row in part], params)
        found.update(zip(part, scores, strict=True))
    return [found[row] for row in scoring.rows]


def _score_part(
    scoring: Scoring, rows: Sequence[int], answers: Sequence[Answer], params: Params
) -> list[Score]:
    """Scores of rows of one document, in their order."""
    from lm_eval.api.instance import Instance

    task = scoring.task
    wanted = params.metric or task.metric
    metric, _, kept = wanted.partition(",")
    lm_task = build_task(task, scoring.documents, rows)
    kind = lm_task.OUTPUT_TYPE
    said = [_said(task.task, kind, metric, answer) for answer in answers]
    instances = [
        [
            Instance(kind, document, (), number, (task.task, row, len(responses)), list(responses))
            for number, responses in enumerate(parts)
        ]
        for row, (document, parts) in enumerate(zip(lm_task.eval_docs, said, strict=True))
    ]
    filters = [one for one in lm_task._filters if one.name == kept]
    for one in filters:
        one.apply([instance for own in instances for instance in own])
    found: list[Score] = []
    for of_row in instances:
        read = [instance.filtered_resps[kept] for instance in of_row] if filters else []
        values = lm_task.process_results(of_row[0].doc, read) if filters else {}
        if metric not in values:
            raise _no_metric(scoring, wanted, lm_task, of_row)
        found.append(Score({OWN: float(values[metric])}, parsed=_parsed(kind, read)))
    return found


def _said(name: str, kind: str, metric: str, answer: Answer) -> list[list[Any]]:
    """An answer as lm-eval's responses: of every request of a row all that was answered."""
    if kind == "generate_until":
        return [list(answer.texts) or [""]]
    by_greedy = metric == "exact_match" or kind == "loglikelihood"
    if answer.greedy is None and by_greedy:
        raise CallFailure(
            "bad_input",
            f"Cannot score {name} by {metric}: whether greedy decoding gives a text was not kept",
            hint="Evaluate the model again: later versions keep it",
        )
    greedy = answer.greedy or (False,) * len(answer.likelihoods)
    return [[pair] for pair in zip(answer.likelihoods, greedy, strict=True)]


def _parsed(kind: str, read: Sequence[Any]) -> str | None:
    """A text as the filters left it."""
    if kind != "generate_until":
        return None
    return read[0] if isinstance(read[0], str) else str(read[0][0])


def _no_metric(scoring: Scoring, wanted: str, lm_task: Any, row: Sequence[Any]) -> CallFailure:
    known: set[str] = set()
    for one in lm_task._filters:
        one.apply(list(row))
        values = lm_task.process_results(row[0].doc, [i.filtered_resps[one.name] for i in row])
        known |= {f"{metric},{one.name}" for metric in values}
    return CallFailure(
        "bad_input",
        f'Cannot read the metric "{wanted}" of {scoring.task.task}: lm-eval gives '
        f"{', '.join(sorted(known))}",
    )
