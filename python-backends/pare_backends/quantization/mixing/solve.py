"""The best assignment of formats to layers under a budget of bytes: a multiple-choice knapsack.

The cost of a mix is taken as the sum of its layers' scores, each measured alone: it leaves out how
errors meet, so that a mix is judged by a real evaluation afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pare_backends.failures import StageFailure

MOST_STEPS = 1 << 17
"""Steps of the budget. Bytes of layers share a large divisor, so that steps are nearly always
exact; where they are not, costs are rounded up and the budget is kept all the same."""


@dataclass(frozen=True)
class Option:
    """One format for a decision."""

    format: str
    size_bytes: int
    score: float


@dataclass(frozen=True)
class Decision:
    """Layers that take one format together."""

    layers: tuple[str, ...]
    options: tuple[Option, ...]


def best_mix(decisions: Sequence[Decision], budget_bytes: int) -> list[Option]:
    """The options of least summed score whose bytes are within the budget, one a decision.

    By dynamic programme over what each option costs beyond its decision's smallest: exact where
    those bytes have a divisor of at least slack / 131,072, else within a step a decision.
    raises: StageFailure "invalid" where not even the smallest options fit
    """
    least = sum(min(one.size_bytes for one in decision.options) for decision in decisions)
    slack = budget_bytes - least
    if slack < 0:
        raise StageFailure(
            "invalid",
            f"Cannot mix formats into {budget_bytes} bytes: the smallest ones take {least}",
            hint="Allow more bits on average, or formats of fewer bits",
        )
    extras = [extra_bytes(decision) for decision in decisions]
    most = sum(max(extra) for extra in extras)
    slack = min(slack, most)
    step = max(math.gcd(*(byte for extra in extras for byte in extra)), 1)
    step = max(step, math.ceil(slack / MOST_STEPS))
    steps = slack // step
    best = np.zeros(steps + 1)
    taken = np.zeros((len(decisions), steps + 1), dtype=np.int8)
    for number, (decision, extra) in enumerate(zip(decisions, extras, strict=True)):
        reached = np.full(steps + 1, np.inf)
        for choice, (option, byte) in enumerate(zip(decision.options, extra, strict=True)):
            cost = -(-byte // step)
            if cost > steps:
                continue
            tried = np.full(steps + 1, np.inf)
            tried[cost:] = best[: steps + 1 - cost] + option.score
            better = tried < reached
            reached[better] = tried[better]
            taken[number, better] = choice
        best = reached
    chosen: list[Option] = []
    left = int(best.argmin())
    for number in range(len(decisions) - 1, -1, -1):
        choice = int(taken[number, left])
        chosen.append(decisions[number].options[choice])
        left -= -(-extras[number][choice] // step)
    return chosen[::-1]


def extra_bytes(decision: Decision) -> list[int]:
    """Of each option beyond the smallest."""
    least = min(one.size_bytes for one in decision.options)
    return [one.size_bytes - least for one in decision.options]
