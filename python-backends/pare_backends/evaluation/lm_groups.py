"""lm-eval's groups: one figure over the tasks of a name such as `mmlu`, as lm-eval reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pare_backends.evaluation.outcome import TaskOutcome, measurement
from pare_backends.evaluation.wire import GroupMember

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
    """lm-eval's own functions over the tasks' means, sizes and standard errors."""
    from lm_eval.api import metrics

    sizes = [len(outcome.samples) for outcome in own]
    errors = [outcome.standard_error for outcome in own]
    known = [error for error in errors if error is not None]
    pooled = None
    if len(known) == len(errors):
        pooled = (
            metrics.pooled_sample_stderr(known, sizes)
            if group.weight_by_size
            else metrics.unweighted_mean_stderr(known)
        )
    value = metrics.aggregate_subtask_metrics(
        [outcome.value for outcome in own], sizes, group.weight_by_size
    )
    weighing = "weighted by their sizes" if group.weight_by_size else "unweighted"
    return {
        **measurement(own[0], fidelity, device),
        "metric": METRIC,
        "task": group.group,
        "task_version": None,
        "value": float(value),
        "standard_error": None if pooled is None else float(pooled),
        "n": sum(sizes),
        "method": f"lm-eval's mean over the {len(own)} tasks of the group, {weighing}",
    }
