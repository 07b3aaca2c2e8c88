"""The distances of all windows as the figures of a task, as llama.cpp names and takes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pare_backends.evaluation.original.distance import WindowDistance
from pare_backends.evaluation.original.distributions import DRAWS, TOP_K

NATS, SHARE = "nats/token", "1"
QUANTILES = {"kl_median": 0.5, "kl_p90": 0.9, "kl_p99": 0.99, "kl_p999": 0.999, "kl_maximum": 1.0}


@dataclass(frozen=True)
class DistanceFigure:
    """One figure; unit and direction as `core/metrics/metric_table.ts` declares them."""

    metric: str
    value: float
    unit: str
    direction: str
    n: int
    standard_error: float | None
    how: str

    def over(self, whole: dict[str, Any]) -> dict[str, Any]:
        """As a `Measurement` of the wire; `whole` is the task's own."""
        return {
            **whole,
            "metric": self.metric,
            "value": self.value,
            "unit": self.unit,
            "direction": self.direction,
            "n": self.n,
            "standard_error": self.standard_error,
            "method": self.how,
        }


def distance_figures(
    windows: Sequence[WindowDistance], error: float | None
) -> tuple[DistanceFigure, ...]:
    """The mean KL, whose units are windows as tokens of one go together, then figures of single
    tokens. error: standard error of the windows' mean; None: there is one window"""
    tokens = np.array([x for window in windows for x in window.kl])
    count = len(tokens)
    drawn = math.sqrt(math.fsum(one.draws_variance for one in windows)) / count
    how = (
        f"KL(original, this model) of the next token, teacher-forced; {len(windows)} windows,"
        f" {count} tokens; the original's top {TOP_K} and {DRAWS} draws from its tail, which add a"
        f" standard error of {drawn:.1e}"
    )
    mean = math.fsum(one.mean for one in windows) / len(windows)
    squared = math.fsum(one.squared_delta_p for one in windows) / count
    same = sum(one.same_top for one in windows) / count
    delta = math.fsum(one.delta_p for one in windows) / count
    return (
        DistanceFigure("kl", mean, NATS, "minimize", len(windows), error, how),
        *(
            DistanceFigure(
                name,
                float(np.quantile(tokens, share)),
                NATS,
                "minimize",
                count,
                None,
                "of single tokens' KL",
            )
            for name, share in QUANTILES.items()
        ),
        DistanceFigure(
            "same_top_token",
            same,
            SHARE,
            "maximize",
            count,
            None,
            "tokens whose most likely continuation is the original's",
        ),
        DistanceFigure(
            "mean_delta_p",
            delta,
            SHARE,
            "maximize",
            count,
            None,
            "probability of the text's own token less the original's",
        ),
        DistanceFigure(
            "rms_delta_p",
            math.sqrt(squared),
            SHARE,
            "minimize",
            count,
            None,
            "root mean square of that difference",
        ),
    )
