"""A task's rows as they are asked, and their answers before anything is scored."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from pare_backends.evaluation.answers import split_apart
from pare_backends.evaluation.original.figures import DistanceFigure
from pare_backends.evaluation.outcome import SampleResult
from pare_backends.evaluation.scoring.answer import Answer
from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.groups import split_rows
from pare_backends.evaluation.tasks.wire_task import WireTask


@dataclass(frozen=True)
class TaskRows:
    """The rows of a task that a model is asked."""

    task: WireTask
    documents: Documents
    rows: Sequence[int]
    """Ascending, each once; of a text: numbers of its windows."""
    apart: Sequence[Container[int]] = ()
    """Rows of one of these share no forward pass with others."""
    weighed: bool = False
    """Some stand for all: each group of the task counts by its rows in the data."""

    def parts(self) -> list[list[int]]:
        """Rows that may share a forward pass; groups have prompts of their own."""
        by_group = split_rows(self.task.groups, self.documents.rows, self.rows)
        return [piece for part in by_group for piece in split_apart(part, self.apart)]


@dataclass(frozen=True)
class AskedTask:
    """What a model said to the rows of a task."""

    task: WireTask
    documents: Documents
    rows: Sequence[int]
    answers: Sequence[Answer]
    """One a row."""
    samples: Sequence[SampleResult]
    """One a row, without a score."""
    how: str
    """By what rule it was asked."""
    changed: str
    """How prompts and what was kept of them were changed: said behind the scorer. Empty: they were
    not."""
    hashed: Sequence[Any]
    """What an equal protocol has equal, but for scorer and weighing."""
    protocol_parts: dict[str, str]
    """The same by name."""
    asked: int
    """Log-likelihoods, windows and generations."""
    reused: int
    """Of these, those that an earlier evaluation had answered."""
    figures: tuple[DistanceFigure, ...] = ()
    """How far the model is from the original; none where that was not asked."""
