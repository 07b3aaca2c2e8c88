"""Tasks whose rows fall into groups: MMLU's subjects, BIG-Bench Hard's subtasks.

A task says so in its definition's metadata:

    groups: {field: "subject", include: "mmlu/default/mmlu_{}.yaml", means: {mean_of_subjects: ""}}

`field` holds a row's group. `include`, if given, is lm-eval's own document of a group, with the
group's name in place of `{}`: its description and its worked examples. `means` names unweighted
means over groups; the text is a pattern that is cut from a group's name first, so that variants of
one subtask count as one. `hub_configs`, if given, are the dataset's parts on the hub, one a group.
`below`, if given, makes groups of a number: the first name whose limit is above it, or is null.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure

SAFE_NAME = re.compile(r"[A-Za-z0-9_.&'+ -]+")


@dataclass(frozen=True)
class Groups:
    """How a task's rows fall into groups."""

    field: str
    include: str | None = None
    means: Mapping[str, str] | None = None
    hub_configs: Sequence[str] | None = None
    below: Mapping[str, float | None] | None = None

    def of(self, row: Row) -> str:
        """The row's group. Raises `CallFailure` where it has none that can be a name."""
        name = row.get(self.field)
        if self.below is not None and isinstance(name, int | float):
            name = next(
                own for own, limit in self.below.items() if limit is None or row[self.field] < limit
            )
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


def rows_by_group(groups: Groups, all_rows: Sequence[Row]) -> dict[str, int]:
    """How many rows of the data each group has."""
    return dict(Counter(groups.of(row) for row in all_rows))
