"""What a scorer may use beside the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.scoring.answer import Answer
from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.records import Row
from pare_backends.evaluation.tasks.wire_task import WireScorer, WireTask
from pare_backends.failures import CallFailure
from pare_backends.progress import Report

if TYPE_CHECKING:
    from pare_backends.evaluation.served.model import ServedLM


@dataclass(frozen=True)
class Surroundings:
    """The machine that scores: whoever is told, what was found before, who judges."""

    report: Report
    kept: Answers
    """What judges and sandboxes said before, so that nothing is asked twice."""
    sandboxed: bool = True
    """Programs that a model wrote run in a sandbox alone."""
    judges: Sequence[Callable[[], ServedLM]] = ()
    """Each opens a model that judges, the first the one that is asked where one is; none: none was
    named."""


@dataclass(frozen=True)
class Scoring:
    """Answers of one task that a scorer is to score."""

    task: WireTask
    scorer: WireScorer
    documents: Documents
    rows: Sequence[int]
    """Of `documents.rows`, those that were asked."""
    answers: Sequence[Answer]
    """One a row."""
    around: Surroundings

    def row(self, number: int) -> Row:
        """A row of the task's data; of a text none, as its windows are no rows."""
        return {} if self.task.window_tokens is not None else self.documents.rows[number]

    def judge(self) -> ServedLM:
        """The model that judges alone. Raises `CallFailure` where none was named."""
        return self.judges()[0]

    def judges(self) -> list[ServedLM]:
        """All that judge. Raises `CallFailure` where none was named."""
        if not self.around.judges:
            raise CallFailure(
                "bad_input",
                f"Cannot score {self.task.task} by {self.scorer.scorer}: it asks a judge, and none"
                " is named",
                hint="Name a server by --judge-endpoint",
            )
        return [opened() for opened in self.around.judges]
