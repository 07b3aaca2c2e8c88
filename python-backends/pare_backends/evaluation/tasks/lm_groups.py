"""lm-eval's groups: one figure over the tasks of a name such as `mmlu`, as lm-eval reports it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pare_backends.evaluation.outcome import TaskOutcome, measurement
from pare_backends.evaluation.tasks.wire_task import GroupMember

METRIC = "group_accuracy"
"""A name of its own: a group's figure is ranked beside none of its tasks'."""


def membership(
    name: str, group: Mapping[str, Any], metrics: Sequence[str]
) -> dict[str, Any] | None:
    """What the tasks of a group are to it, by its document and the `metric,filter` of each task;
    None where lm-eval gives no figure of the group in these metrics."""
    listed = group.get("aggregate_metric_list") or []
    found = [listed] if isinstance(listed, Mapping) else list(listed)
    kinds = set(metrics)
    if len(kinds) != 1:
        return None
    metric, _, kept = kinds.pop().partition(",")
    for one in found:
        filters = one.get("filter_list", "none")
        named = [filters] if isinstance(filters, str) else list(filters)
        if one.get("metric") == metric and kept in named:
            weighted = bool(one.get("weight_by_size", True))
            return {"group": name, "weight_by_size": weighted, "members": len(metrics)}
    return None


def group_measurements(
    outcomes: Sequence[TaskOutcome], fidelity: str, device: str
) -> list[dict[str, Any]]:
    """A measurement of every group whose tasks were all measured."""
    by_group: dict[str, list[TaskOutcome]] = {}
    told: dict[str, GroupMember] = {}
    for outcome in outcomes:
        for one in outcome.task.member_of:
            by_group.setdefault(one.group, []).append(outcome)
            told[one.group] = one
    return [
        _of_group(told[name], own, fidelity, device)
        for name, own in by_group.items()
        if len(own) == told[name].members
    ]


def _of_group(
    group: GroupMember, own: Sequence[TaskOutcome], fidelity: str, device: str
) -> dict[str, Any]:
    """lm-eval's own functions over the tasks' means, sizes and standard errors, where all rows of
    the tasks were taken; where some were, a task still counts by its rows and not by the samples
    that were taken of it."""
    sizes = [outcome.rows or len(outcome.samples) for outcome in own]
    value, error = (_whole if _all_taken(own) else _sampled)(group, own, sizes)
    weights = sizes if group.weight_by_size else [1] * len(own)
    known = [outcome.chance for outcome in own if outcome.chance is not None]
    weighing = "weighted by their rows" if group.weight_by_size else "unweighted"
    return {
        **measurement(own[0], fidelity, device),
        "metric": METRIC,
        "task": group.group,
        "task_version": None,
        "value": value,
        "standard_error": error,
        "n": sum(len(outcome.samples) for outcome in own),
        "chance": _mean(known, weights) if len(known) == len(own) else None,
        "method": f"lm-eval's mean over the {len(own)} tasks of the group, {weighing}",
    }


def _all_taken(own: Sequence[TaskOutcome]) -> bool:
    return all(outcome.rows in (None, len(outcome.samples)) for outcome in own)


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    total = math.fsum(value * weight for value, weight in zip(values, weights, strict=True))
    return total / sum(weights)


def _errors(own: Sequence[TaskOutcome]) -> list[float] | None:
    known = [one.standard_error for one in own if one.standard_error is not None]
    return known if len(known) == len(own) else None


def _whole(
    group: GroupMember, own: Sequence[TaskOutcome], sizes: Sequence[int]
) -> tuple[float, float | None]:
    from lm_eval.api import metrics

    values, errors = [outcome.value for outcome in own], _errors(own)
    mean = float(metrics.aggregate_subtask_metrics(values, list(sizes), group.weight_by_size))
    if errors is None:
        return mean, None
    if group.weight_by_size:
        return mean, float(metrics.pooled_sample_stderr(errors, list(sizes)))
    return mean, float(metrics.unweighted_mean_stderr(errors))


def _sampled(
    group: GroupMember, own: Sequence[TaskOutcome], sizes: Sequence[int]
) -> tuple[float, float | None]:
    """The tasks are strata: sum W mean, sqrt(sum W^2 SE^2)."""
    weights = list(sizes) if group.weight_by_size else [1] * len(own)
    errors = _errors(own)
    mean = _mean([outcome.value for outcome in own], weights)
    if errors is None:
        return mean, None
    parts = [weight * error for weight, error in zip(weights, errors, strict=True)]
    return mean, math.hypot(*parts) / sum(weights)
