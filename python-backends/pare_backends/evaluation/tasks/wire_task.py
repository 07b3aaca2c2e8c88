"""Benchmarks as they come over the wire (`core/calls/calls.ts`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pare_backends.evaluation.tasks.groups import Groups, groups_of


@dataclass(frozen=True)
class GroupMember:
    """That a task was asked for by the name of a group of lm-eval."""

    group: str
    weight_by_size: bool
    members: int


@dataclass(frozen=True)
class WireMetric:
    """A metric that a scorer gives."""

    metric: str
    unit: str
    direction: Literal["maximize", "minimize"]


@dataclass(frozen=True)
class WireScorer:
    """A scorer of a task, with every knob set."""

    scorer: str
    version: str
    params: dict[str, Any]
    reads: list[str]
    metrics: list[WireMetric]
    """The first is its own."""
    judges: bool
    """It asks a model behind a server."""
    python_path: str | None
    """A third party's Python half: its .py file."""


@dataclass(frozen=True)
class WireTask:
    """One benchmark: everything that is needed to ask it and to score the answers."""

    task: str
    task_version: str
    origin: Literal["plugin", "lm_eval", "file"]
    scorers: list[WireScorer]
    """The first gives the task's own figure."""
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
    """Its rows are a text that is read in windows of so many tokens; None: its rows are asked."""
    chance: float | None = None
    """Score of guessing, where its definition says."""
    tokenizer_dir: str | None = None
    """Whose tokens its rows are made in; None: they are not made, or are made already."""
    member_of: list[GroupMember] = field(default_factory=list)

    @property
    def groups(self) -> Groups | None:
        """How its rows fall into groups; None: they do not."""
        return groups_of(self.definition or {})


@dataclass(frozen=True)
class SampleSelection:
    """Row numbers of a task's data; of a text: numbers of its windows."""

    task: str
    rows: list[int]
    weigh_strata: bool = False
    """Each stratum (a group of the task) counts by its rows in the data."""
