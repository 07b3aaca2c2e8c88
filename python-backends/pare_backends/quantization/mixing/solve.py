"""The best assignment of formats to layers under a budget of bytes: a multiple-choice knapsack.

The cost of a mix is taken as the sum of its layers' scores, each measured alone: it leaves out how
errors meet, so that a mix is judged by a real evaluation afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pare_backends.failures import CallFailure
from pare_backends.quantization.mixing.bounds import choices_of, worth_trying

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

    By dynamic programme over what each option costs beyond its decision's smallest, of the options
    that a bound leaves: exact where their bytes have a divisor of at least slack / 131,072, else
    within a step a decision.
    raises: CallFailure "invalid" where not even the smallest options fit
    """
    least = sum(min(one.size_bytes for one in decision.options) for decision in decisions)
    slack = budget_bytes - least
    if slack < 0:
        raise CallFailure(
            "invalid",
            f"Cannot mix formats into {budget_bytes} bytes: the smallest ones take {least}",
            hint="Allow more bits on average, or formats of fewer bits",
        )
    extras = [extra_bytes(decision) for decision in decisions]
    choices = choices_of(extras, [[one.score for one in each.options] for each in decisions])
    kept, known = worth_trying(choices, slack)
    # What is left of one option is taken; the rest share what those leave.
    open_ones = [number for number, row in enumerate(kept) if row.sum() > 1]
    fixed = [int(row.argmax()) for row in kept]
    settled = set(range(len(decisions))) - set(open_ones)
    left = slack - sum(extras[number][fixed[number]] for number in settled)
    picks = np.array(fixed, dtype=np.int64)
    columns = [np.flatnonzero(kept[number]) for number in open_ones]
    found = by_programme(
        [[extras[number][at] for at in of] for number, of in zip(open_ones, columns, strict=True)],
        [choices.scores[number, of] for number, of in zip(open_ones, columns, strict=True)],
        left,
    )
    if found is not None:
        for number, of, choice in zip(open_ones, columns, found, strict=True):
            picks[number] = of[choice]
    # Rounded to steps, the programme may miss the mix that the bound began with.
    if found is None or choices.picked(picks)[1] > choices.picked(known)[1]:
        picks = known
    return [one.options[int(pick)] for one, pick in zip(decisions, picks, strict=True)]


def by_programme(
    extras: Sequence[Sequence[int]], scores: Sequence[np.ndarray], slack: int
) -> list[int] | None:
    """The choice of each decision; None where rounding to steps leaves none within the budget."""
    if not extras:
        return [] if slack >= 0 else None
    slack -= sum(min(extra) for extra in extras)
    extras = [[byte - min(extra) for byte in extra] for extra in extras]
    slack = min(slack, sum(max(extra) for extra in extras))
    if slack < 0:
        return None
    step = max(math.gcd(*(byte for extra in extras for byte in extra)), 1)
    step = max(step, math.ceil(slack / MOST_STEPS))
    steps = slack // step
    best = np.zeros(steps + 1)
    taken = np.zeros((len(extras), steps + 1), dtype=np.int8)
    for number, (extra, score) in enumerate(zip(extras, scores, strict=True)):
        reached = np.full(steps + 1, np.inf)
        for choice, byte in enumerate(extra):
            cost = -(-byte // step)
            if cost > steps:
                continue
            tried = best[: steps + 1 - cost] + score[choice]
            better = tried < reached[cost:]
            np.copyto(reached[cost:], tried, where=better)
            np.copyto(taken[number, cost:], choice, where=better)
        best = reached
    if not np.isfinite(best).any():
        return None
    chosen: list[int] = []
    left = int(best.argmin())
    for number in range(len(extras) - 1, -1, -1):
        choice = int(taken[number, left])
        chosen.append(choice)
        left -= -(-extras[number][choice] // step)
    return chosen[::-1]


def extra_bytes(decision: Decision) -> list[int]:
    """Of each option beyond the smallest."""
    least = min(one.size_bytes for one in decision.options)
    return [one.size_bytes - least for one in decision.options]
