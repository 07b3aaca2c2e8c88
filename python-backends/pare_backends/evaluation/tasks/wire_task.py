"""Benchmarks as they come over the wire (`core/schemas/wire.ts`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class GroupMember:
    """That a task was asked for by the name of a group of lm-eval."""

    group: str
    weight_by_size: bool
    members: int


@dataclass(frozen=True)
class WireTask:
    """One benchmark: everything that the evaluator needs to know of it."""

    task: str
    task_version: str
    origin: Literal["plugin", "lm_eval", "file"]
    evaluator: Literal["lm_eval", "perplexity"]
    lm_eval_task: str | None
    definition: dict[str, Any] | None
    data_file: str | None
    data_path: str | None
    few_shot: int
    metric: str
    reported_metric: str
    unit: str
    direction: Literal["maximize", "minimize"]
    window_tokens: int | None
    chance: float | None = None
    """Score of guessing, where its definition says."""
    member_of: list[GroupMember] = field(default_factory=list)


@dataclass(frozen=True)
class SampleSelection:
    """Row numbers of a task's data; of a perplexity task: numbers of its windows."""

    task: str
    rows: list[int]
    weigh_strata: bool = False
    """Each stratum (a group of the task) counts by its rows in the data."""
