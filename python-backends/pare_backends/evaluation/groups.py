"""Tasks whose rows fall into groups: MMLU's subjects, BIG-Bench Hard's subtasks.

A task says so in its definition's metadata:

    groups: {field: "subject", include: "mmlu/default/mmlu_{}.yaml", means: {mean_of_subjects: ""}}

`field` holds a row's group. `include`, if given, is lm-eval's own document of a group, with the
group's name in place of `{}`: its description and its worked examples. `means` names unweighted
means over groups; the text is a pattern that is cut from a group's name first, so that variants of
one subtask count as one. `hub_configs`, if given, are the dataset's parts on the hub, one a group.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pare_backends.evaluation.outcome import SliceScore, mean_and_error
from pare_backends.evaluation.records import Row
from pare_backends.failures import StageFailure

SAFE_NAME = re.compile(r"[A-Za-z0-9_.&' -]+")
WEIGHTED = "weighted_by_size"


@dataclass(frozen=True)
class Groups:
    """How a task's rows fall into groups."""

    field: str
    include: str | None = None
    means: Mapping[str, str] | None = None
    hub_configs: Sequence[str] | None = None

    def of(self, row: Row) -> str:
        """The row's group. Raises `StageFailure` where it has none that can be a name."""
        name = row.get(self.field)
        if not isinstance(name, str) or SAFE_NAME.fullmatch(name) is None:
            raise StageFailure(
                "bad_input",
                f'Cannot tell the group of a row: its field "{self.field}" must be a name, '
                f"not {name!r}",
            )
        return name


def groups_of(definition: Mapping[str, Any]) -> Groups | None:
    """What the definition says of groups; None: the task has none."""
    found = (definition.get("metadata") or {}).get("groups")
    return None if found is None else Groups(**found)


def split_rows(
    groups: Groups | None, all_rows: Sequence[Row], rows: Sequence[int]
) -> list[list[int]]:
    """The row numbers by group, in order of a group's first row; each part keeps its order."""
    if groups is None:
        return [list(rows)]
    parts: dict[str, list[int]] = {}
    for row in rows:
        parts.setdefault(groups.of(all_rows[row]), []).append(row)
    return list(parts.values())


def slice_scores(
    groups: Groups | None, names: Sequence[str], scores: Sequence[float]
) -> list[SliceScore]:
    """Every group's score, the mean weighted by size and the unweighted means that are asked for.

    `names`: each sample's group, in the samples' order. A group of one sample has no standard
    error, and a mean over such groups has none.
    """
    if groups is None:
        return []
    value, error = mean_and_error(scores)
    found = [
        SliceScore(WEIGHTED, value, error, len(scores), "mean over samples, of all groups together")
    ]
    for mean, pattern in (groups.means or {}).items():
        merged = _scores_by([re.sub(pattern, "", name) for name in names], scores)
        found.append(_mean_of(mean, groups.field, merged))
    for name, own in sorted(_scores_by(names, scores).items()):
        value, error = mean_and_error(own)
        found.append(SliceScore(name, value, error, len(own), f"{groups.field} {name}"))
    return found


def _scores_by(names: Sequence[str], scores: Sequence[float]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, score in zip(names, scores, strict=True):
        found.setdefault(name, []).append(score)
    return found


def _mean_of(name: str, field: str, merged: Mapping[str, Sequence[float]]) -> SliceScore:
    """Unweighted mean over groups; its error adds those of the groups, which are independent."""
    each = [mean_and_error(own) for own in merged.values()]
    errors = [error for _, error in each if error is not None]
    complete = len(errors) == len(each)
    return SliceScore(
        slice=name,
        value=math.fsum(value for value, _ in each) / len(each),
        standard_error=math.hypot(*errors) / len(each) if complete else None,
        n=sum(len(own) for own in merged.values()),
        how=f"unweighted mean over {len(each)} of {field}",
    )
