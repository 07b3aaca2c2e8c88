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
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pare_backends.evaluation.outcome import SliceScore, mean_and_error
from pare_backends.evaluation.strata import by_stratum, mean_by, mean_chance, stratified
from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure

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
        """The row's group. Raises `CallFailure` where it has none that can be a name."""
        name = row.get(self.field)
        if not isinstance(name, str) or SAFE_NAME.fullmatch(name) is None:
            raise CallFailure(
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


@dataclass(frozen=True)
class Sampled:
    """The samples of a task of groups: each one's group, score and score of guessing."""

    names: Sequence[str]
    scores: Sequence[float]
    chances: Sequence[float | None]
    rows: Mapping[str, int]
    """Of every group in the task's data."""
    weighed: bool
    """Whether a group counts by its rows, as a sample that is drawn by groups needs."""

    @property
    def sizes(self) -> Mapping[str, int] | None:
        """What each group counts by in the benchmark's mean; None: every sample counts alike."""
        return self.rows if self.weighed else None


def rows_by_group(groups: Groups, all_rows: Sequence[Row]) -> dict[str, int]:
    """How many rows of the data each group has."""
    return dict(Counter(groups.of(row) for row in all_rows))


def how_weighed(groups: Groups, sampled: Sampled) -> str:
    """In words, for the figure's method."""
    if not sampled.weighed:
        return "mean over samples, of all groups together"
    lacking = len(sampled.rows) - len(set(sampled.names))
    without = f"; {lacking} of {len(sampled.rows)} have no sample" if lacking else ""
    return f"each {groups.field} weighed by its rows in the data{without}"


def slice_scores(groups: Groups | None, sampled: Sampled) -> list[SliceScore]:
    """Every group's score, the mean weighted by size and the unweighted means that are asked for.

    A group of one sample has no standard error of its own; see `strata.py` for what it takes in
    the means.
    """
    if groups is None:
        return []
    names, scores, chances = sampled.names, sampled.scores, sampled.chances
    value, error = mean_by(names, scores, sampled.sizes)
    guessed = mean_chance(names, chances, sampled.sizes)
    how = "of all groups together" if sampled.weighed else how_weighed(groups, sampled)
    found = [SliceScore(WEIGHTED, value, error, len(scores), how, guessed)]
    for mean, pattern in (groups.means or {}).items():
        found.append(_unweighted(mean, groups.field, pattern, sampled))
    guessed_by = by_stratum(names, [math.nan if one is None else one for one in chances])
    for name, own in sorted(by_stratum(names, scores).items()):
        value, error = mean_and_error(own)
        chance = math.fsum(guessed_by[name]) / len(own)
        found.append(
            SliceScore(
                name,
                value,
                error,
                len(own),
                f"{groups.field} {name}",
                None if math.isnan(chance) else chance,
                sampled.rows[name],
            )
        )
    return found


def _unweighted(name: str, field: str, pattern: str, sampled: Sampled) -> SliceScore:
    """Mean over groups of one weight each, variants of one sharing its weight by their rows."""
    merged = {group: re.sub(pattern, "", group) for group in set(sampled.names)}
    together = Counter[str]()
    for group, one in merged.items():
        together[one] += sampled.rows[group]
    shares = {group: sampled.rows[group] / together[one] for group, one in merged.items()}
    value, error = stratified(sampled.names, sampled.scores, shares)
    return SliceScore(
        slice=name,
        value=value,
        standard_error=error,
        n=len(sampled.scores),
        how=f"unweighted mean over {len(together)} of {field}",
        chance=mean_chance(sampled.names, sampled.chances, shares),
    )
