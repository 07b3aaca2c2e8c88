"""From the scores of samples to a task's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pare_backends.evaluation.asked import AskedTask
from pare_backends.evaluation.outcome import BesideScore, SampleResult, SliceScore, TaskOutcome
from pare_backends.evaluation.scoring.answer import Score, Verdict
from pare_backends.evaluation.scoring.context import Scoring, Surroundings
from pare_backends.evaluation.scoring.protocol import named_part, scorer_part
from pare_backends.evaluation.scoring.scorer import module_of, score_answers
from pare_backends.evaluation.scoring.slices import Sampled, how_weighed, slice_scores
from pare_backends.evaluation.strata import mean_by, mean_chance
from pare_backends.evaluation.tasks.groups import rows_by_group
from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.evaluation.tasks.task_document import check_shares
from pare_backends.evaluation.tasks.wire_task import WireScorer
from pare_backends.failures import CallFailure

NAMED = 10
"""Samples that a sentence names."""


def scored_outcome(
    asked: AskedTask, around: Surroundings, weigh_strata: bool = False
) -> TaskOutcome:
    """The task's own figure, by its first scorer. weigh_strata: some samples stand for all, each
    stratum by its rows."""
    task, scorer = asked.task, asked.task.scorers[0]
    scores = score_answers(
        Scoring(task, scorer, asked.documents, asked.rows, asked.answers, around)
    )
    samples = with_scores(asked, scores)
    values = [sample.score for sample in samples]
    if task.origin != "plugin":
        check_shares(task.task, task.metric, values)
    sampled, samples = _sampled(asked, samples, weigh_strata)
    names, sizes = sampled.names, sampled.sizes
    module = module_of(scorer)
    value, error = mean_by(names, values, sizes)
    if hasattr(module, "figure"):
        value, error = module.figure(value, error)
    groups = task.groups
    weighing = how_weighed(groups, sampled) if groups is not None and sampled.weighed else None
    protocol, parts = _protocol(asked, (weighing, sampled.rows) if weighing else None)
    own = module.slices(task, scores, scorer.metrics[0].metric) if hasattr(module, "slices") else []
    return TaskOutcome(
        task=task,
        value=value,
        standard_error=error,
        samples=samples,
        protocol=protocol,
        protocol_parts=parts,
        how=asked.how
        + (module.how(task, around) if hasattr(module, "how") else "")
        + _named(scorer)
        + asked.changed
        + (f", {weighing}" if weighing else ""),
        asked=asked.asked,
        reused=asked.reused,
        slices=(*slice_scores(groups, sampled), *own),
        chance=mean_chance(names, sampled.chances, sizes),
        rows=None if task.window_tokens is not None else len(asked.documents.rows),
        beside=tuple(
            BesideScore(metric, *mean_by(names, [one.beside[metric] for one in samples], sizes))
            for metric in samples[0].beside
            if all(metric in one.beside for one in samples)
        ),
        figures=asked.figures,
    )


def _named(scorer: WireScorer) -> str:
    """What is said of a scorer beside the metric that it goes by."""
    return "" if scorer_part(scorer) is None else f", scored by {scorer.scorer} {scorer.version}"


def with_scores(asked: AskedTask, scores: Sequence[Score]) -> list[SampleResult]:
    """The samples with what the task's own scorer gave them. Raises `CallFailure` where it gave
    one no score: a mean without it would be another benchmark's."""
    own = asked.task.scorers[0].metrics[0].metric
    found: list[SampleResult] = []
    for sample, score in zip(asked.samples, scores, strict=True):
        if own not in score.values:
            raise CallFailure(
                "bad_input",
                f"Cannot score sample {sample.sample_id} of {sample.task} by"
                f" {asked.task.scorers[0].scorer}: {score.why}",
            )
        found.append(
            replace(
                sample,
                score=score.values[own],
                parsed_answer=sample.parsed_answer if score.parsed is None else score.parsed,
                gold=sample.gold if score.gold is None else score.gold,
                answer=sample.answer if score.shown is None else score.shown,
                beside={name: value for name, value in score.values.items() if name != own},
            )
        )
    return found


def _sampled(
    asked: AskedTask, samples: list[SampleResult], weigh_strata: bool
) -> tuple[Sampled, list[SampleResult]]:
    """The samples by the groups of the task, where it has some, and each sample's own."""
    rows, groups = asked.documents.rows, asked.task.groups
    names = [] if groups is None else [groups.of(rows[row]) for row in asked.rows]
    sampled = Sampled(
        names,
        [sample.score for sample in samples],
        [sample.chance for sample in samples],
        {} if groups is None else rows_by_group(groups, rows),
        weighed=groups is not None and weigh_strata and len(asked.rows) < len(rows),
    )
    if groups is None:
        return sampled, samples
    return sampled, [
        replace(one, stratum=name, stratum_rows=sampled.rows[name] if sampled.weighed else None)
        for one, name in zip(samples, names, strict=True)
    ]


def _protocol(asked: AskedTask, weighing: tuple[str, Any] | None) -> tuple[str, dict[str, str]]:
    """The hash over everything that an equal protocol has equal, and its parts by name. weighing:
    how groups weigh, and their rows"""
    scorer = asked.task.scorers[0]
    whole, parts = list(asked.hashed), dict(asked.protocol_parts)
    if weighing is not None:
        how, group_rows = weighing
        whole.append([how, group_rows])
        parts["weighing"] = f"{how} {content_hash(group_rows)}"
    hashed, named = scorer_part(scorer), named_part(scorer)
    if hashed is not None and named is not None:
        whole.append(hashed)
        parts["scorer"] = named
    return content_hash(whole), parts


def beside_measurements(
    scoring: Scoring,
    scores: Sequence[Score],
    samples: Sequence[SampleResult],
    fidelity: str,
    device: str | None,
) -> list[dict[str, Any]]:
    """The figures of a scorer beside the task's own, over the samples that it could score, each
    stratum by its rows where the samples say so; none of a metric that it could give no sample."""
    scorer, module = scoring.scorer, module_of(scoring.scorer)
    rows = []
    for place, metric in enumerate(scorer.metrics):
        scored = [
            (score.values[metric.metric], sample)
            for score, sample in zip(scores, samples, strict=True)
            if metric.metric in score.values
        ]
        if not scored:
            continue
        own = [sample for _, sample in scored]
        weighed = all(one.stratum_rows is not None for one in own)
        names = [one.stratum or "" for one in own]
        sizes = (
            {one.stratum or "": float(one.stratum_rows or 0) for one in own} if weighed else None
        )
        value, error = mean_by(names, [one for one, _ in scored], sizes)
        if place == 0 and hasattr(module, "figure"):
            value, error = module.figure(value, error)
        chances = [one.chance for one in own]
        reported = metric.metric == scoring.task.reported_metric
        row = {
            "metric": metric.metric,
            "value": value,
            "unit": metric.unit,
            "direction": metric.direction,
            "n": len(scored),
            "standard_error": error,
            "fidelity": fidelity,
            "provenance": "measured",
            "task": scoring.task.task,
            "task_version": scoring.task.task_version,
            "slice": None,
            "runtime": None,
            "numerics": None,
            "device": device,
            "method": _method(scoring, scores, len(scored)),
        }
        if metric.direction == "maximize":
            row["chance"] = mean_chance(names, chances, sizes) if reported else None
        rows.append(row)
    own_slices = (
        module.slices(scoring.task, scores, scorer.metrics[0].metric)
        if rows and hasattr(module, "slices")
        else []
    )
    parts = [*_group_slices(scoring, scores, samples), *own_slices]
    return [*rows, *(_slice_row(rows[0], one) for one in parts)]


def _group_slices(
    scoring: Scoring, scores: Sequence[Score], samples: Sequence[SampleResult]
) -> list[SliceScore]:
    """Of a task of groups each group's figure, where every sample is scored by the task's own
    metric: as an evaluation tells them."""
    metric = scoring.scorer.metrics[0].metric
    groups = scoring.task.groups
    known = all(metric in one.values for one in scores) and all(one.stratum for one in samples)
    if groups is None or metric != scoring.task.reported_metric or not known:
        return []
    sampled = Sampled(
        [one.stratum or "" for one in samples],
        [one.values[metric] for one in scores],
        [one.chance for one in samples],
        rows_by_group(groups, scoring.documents.rows),
        weighed=all(one.stratum_rows is not None for one in samples),
    )
    return slice_scores(groups, sampled)


def _slice_row(whole: dict[str, Any], part: SliceScore) -> dict[str, Any]:
    return {
        **whole,
        "value": part.value,
        "standard_error": part.standard_error,
        "n": part.n,
        "slice": part.slice,
        "method": f"{whole['method']}; {part.how}",
        "chance": part.chance,
        **({} if part.stratum_rows is None else {"stratum_rows": part.stratum_rows}),
    }


def _method(scoring: Scoring, scores: Sequence[Score], scored: int) -> str:
    scorer = scoring.scorer
    verdicts = [one for score in scores for one in score.verdicts]
    said = f"scored by {scorer.scorer} {scorer.version}" + (_judged(verdicts) if verdicts else "")
    left = len(scores) - scored
    return said + (f"; {left} of {len(scores)} samples could not be scored" if left else "")


def _judged(verdicts: Sequence[Verdict]) -> str:
    """Who judged, by what, and how many verdicts are none of the first reply's."""
    judges = ", ".join(dict.fromkeys(one.judge for one in verdicts))
    rubrics = list(dict.fromkeys(one.rubric_version for one in verdicts if one.rubric_version))
    if rubrics:
        by = f"rubric {verdicts[0].question.split(',')[0]} {', '.join(rubrics)}"
    else:
        by = "prompts " + ", ".join(dict.fromkeys(str(one.prompt_hash) for one in verdicts))
    ways = Counter(one.obtained for one in verdicts if one.obtained not in (None, "asked"))
    named = {"mended": "mended", "asked_again": "asked again", "rule": "by the task's rule"}
    told = [f"{count} {named[str(way)]}" for way, count in sorted(ways.items(), key=str)]
    cut = sum(1 for one in verdicts if one.cut_characters)
    told += [f"{cut} of a cut text"] if cut else []
    of = f"; of {len(verdicts)} verdicts {', '.join(told)}" if told else ""
    return f", judge {judges}, {by}{of}"


def nothing_scored(scoring: Scoring, scores: Sequence[Score]) -> CallFailure:
    """That a scorer gave no sample any score."""
    scorer = scoring.scorer
    hint = "Name a judge model that follows the prompt by --judge-model"
    return CallFailure(
        "bad_input",
        f"Cannot score {scoring.task.task} by {scorer.scorer}: none of {len(scores)} samples has a"
        f" {scorer.metrics[0].metric} ({scores[0].why})",
        hint=hint if scorer.judges else None,
    )


def unscored(scoring: Scoring, scores: Sequence[Score]) -> list[str]:
    """What is to be said of samples that a scorer could not score: a sentence a metric."""
    said = []
    for metric in (one.metric for one in scoring.scorer.metrics):
        left = [
            (row, score.why)
            for row, score in zip(scoring.rows, scores, strict=True)
            if metric not in score.values
        ]
        if not left:
            continue
        more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
        said.append(
            f"{len(left)} of {len(scores)} samples of {scoring.task.task} have no {metric} by"
            f" {scoring.scorer.scorer} and do not count for it: samples "
            + ", ".join(f"{row} ({why})" for row, why in left[:NAMED])
            + more
        )
    return said
