"""Points of a training, told while it goes on, some at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pare_backends.progress import MOST_POINTS, Report

SECONDS = 2.0
"""A point waits at most so long for the next one."""


@dataclass
class Curves:
    """Gathers points; `tell` says what is gathered."""

    report: Report
    waiting: list[dict[str, Any]] = field(default_factory=list)
    told: float = field(default_factory=time.monotonic)

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Metrics of a step; they are told when there are many, or the last are a while ago."""
        moment = round(time.time() * 1000)
        self.waiting.append({"step": step, "happened_at": moment, "values": dict(values)})
        late = time.monotonic() - self.told >= SECONDS
        if late or len(self.waiting) >= MOST_POINTS:
            self.tell()

    def tell(self) -> None:
        """Tells all that wait."""
        self.report.points(self.waiting)
        self.waiting, self.told = [], time.monotonic()
