"""Answers scored by a judge behind a server, by a rubric."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pare_backends.evaluation.judging.asking import AskedModel, Said
from pare_backends.evaluation.judging.panel import (
    ORDERS,
    WON,
    by_majority,
    of_both_orders,
    pair_score,
    questions_of,
    winner_in,
)
from pare_backends.evaluation.judging.prompts import Asked, question_of
from pare_backends.evaluation.judging.rubric import Rubric
from pare_backends.evaluation.scoring.answer import OWN, Score, Verdict
from pare_backends.evaluation.scoring.context import Scoring
from pare_backends.evaluation.scoring.scorer import score_answers
from pare_backends.failures import CallFailure
from pare_backends.protocol import build

QUESTIONS = ("question", "prompt", "input", "problem", "text")
REFERENCES = ("answer", "target", "reference", "best_answer")


@dataclass(frozen=True)
class Params:
    rubric: str | dict[str, Any]
    question: str | None
    """Field of the row; None: the first of those that are usual."""
    reference: str | None


@dataclass(frozen=True)
class Judged:
    """What one judge said of one answer: of a pair in both orders."""

    judge: AskedModel
    asked: Sequence[Asked]
    said: Sequence[Said]

    @property
    def read(self) -> bool:
        return all(one.values is not None for one in self.said)


def score_all(scoring: Scoring, params: Params) -> list[Score]:
    """Each answer by every judge's verdict; by the task's own rule where none can be read."""
    rubric = _rubric(params)
    asked = [_questions(scoring, params, rubric, place) for place in range(len(scoring.rows))]
    judges = [AskedModel(served) for served in scoring.judges()]
    by_judge = [_by_answer(judge, asked) for judge in judges]
    each = [list(own) for own in zip(*by_judge, strict=True)]
    lost = [place for place, own in enumerate(each) if not any(one.read for one in own)]
    if len(lost) == len(each):  # no judge of this rubric: its figure would be the rule's
        return [Score({}, why=_why(own), verdicts=_verdicts(rubric, own, None)) for own in each]
    rules = _by_rule(scoring, lost) if rubric.mode == "score" else {}
    return [_score(rubric, own, rules.get(place)) for place, own in enumerate(each)]


def _rubric(params: Params) -> Rubric:
    if isinstance(params.rubric, str):
        raise CallFailure(
            "bad_input", f"Cannot judge by the rubric {params.rubric!r}: its content must be given"
        )
    return build(Rubric, params.rubric, "the rubric")


def _questions(scoring: Scoring, params: Params, rubric: Rubric, place: int) -> list[Asked]:
    row = scoring.row(scoring.rows[place])
    question = question_of(row, params.question, QUESTIONS)
    if question is None:
        raise CallFailure(
            "bad_input",
            f"Cannot judge row {scoring.rows[place]} of {scoring.task.task}: it has no field"
            f" {params.question or ', '.join(QUESTIONS)} (found: {', '.join(row)})",
            hint="Name the field that was asked by --param question=FIELD",
        )
    reference = question_of(row, params.reference, REFERENCES)
    if rubric.mode == "pairwise" and reference is None:
        raise CallFailure(
            "bad_input",
            f"Cannot judge row {scoring.rows[place]} of {scoring.task.task} in pairs: it has no"
            f" other answer in {params.reference or ', '.join(REFERENCES)}",
            hint="Name its field by --param reference=FIELD",
        )
    text = scoring.answers[place].text
    return questions_of(rubric, rubric.of(row), question, reference, text)


def _by_answer(judge: AskedModel, asked: Sequence[Sequence[Asked]]) -> list[Judged]:
    replies = iter(judge.ask([one for own in asked for one in own]))
    return [Judged(judge, own, [next(replies) for _ in own]) for own in asked]


def _by_rule(scoring: Scoring, places: Sequence[int]) -> dict[int, float]:
    """Scores by the task's own rule, where one gives shares."""
    rule = next((one for one in scoring.task.scorers if not one.judges), None)
    if rule is None or not places:
        return {}
    some = replace(
        scoring,
        scorer=rule,
        rows=[scoring.rows[place] for place in places],
        answers=[scoring.answers[place] for place in places],
    )
    try:
        scores = score_answers(some)
    except CallFailure:
        return {}
    own = rule.metrics[0].metric
    values = {place: one.values.get(own) for place, one in zip(places, scores, strict=True)}
    return {
        place: value
        for place, value in values.items()
        if value is not None and math.isfinite(value) and 0 <= value <= 1
    }


def _score(rubric: Rubric, own: Sequence[Judged], rule: float | None) -> Score:
    read = [one for one in own if one.read]
    verdicts = _verdicts(rubric, own, None if read else rule)
    if not read:
        if rule is None:
            return Score({}, why=_why(own), verdicts=verdicts)
        return Score({OWN: rule}, parsed=f"by the task's rule: {rule:g}", verdicts=verdicts)
    if rubric.mode == "pairwise":
        outcomes = [of_both_orders(_winners(one)) for one in read]
        return Score({OWN: pair_score(outcomes)}, parsed=", ".join(outcomes), verdicts=verdicts)
    asked = read[0].asked[0]
    values = by_majority([one.said[0].values or {} for one in read], asked.names)
    told = ", ".join(f"{name} {value:g}" for name, value in values.items())
    share = rubric.share(values, asked.criteria)
    return Score({OWN: share}, parsed=told, verdicts=verdicts)


def _winners(judged: Judged) -> list[str]:
    return [winner_in(order, one.values or {}) for order, one in enumerate(judged.said)]


def _why(own: Sequence[Judged]) -> str:
    lost = [(one.judge.model, said.why) for one in own for said in one.said if said.why]
    return "; ".join(dict.fromkeys(f"{model}: {why}" for model, why in lost))


def _verdicts(rubric: Rubric, own: Sequence[Judged], rule: float | None) -> tuple[Verdict, ...]:
    return tuple(
        _verdict(rubric, judged, order, said, rule)
        for judged in own
        for order, said in enumerate(judged.said)
    )


def _verdict(rubric: Rubric, judged: Judged, order: int, said: Said, rule: float | None) -> Verdict:
    pair = rubric.mode == "pairwise"
    score, verdict = None, None
    if said.values is not None:
        won = winner_in(order, said.values) if pair else ""
        score = WON[won] if pair else rubric.share(said.values, judged.asked[order].criteria)
        verdict = won if pair else json.dumps(said.values)
    by_rule = said.values is None and rule is not None
    return Verdict(
        question=f"{rubric.name}, {ORDERS[order]}" if pair else rubric.name,
        judge=said.model,
        verdict=verdict,
        score=rule if by_rule else score,
        reply=said.reply,
        prompt_hash=said.prompt_hash,
        rubric_version=rubric.version,
        prompt_tokens=said.prompt_tokens,
        reply_tokens=said.reply_tokens,
        cost=judged.judge.cost(said),
        obtained="rule" if by_rule else None if said.values is None else said.obtained,
        cut_characters=said.cut_characters,
    )
