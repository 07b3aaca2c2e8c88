"""Mixes worth a real evaluation: what each scorer takes for the best, uniform ones, near ones."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pare_backends.checkpoint.forms.grid import SHAPE_BYTES
from pare_backends.failures import CallFailure
from pare_backends.quantization.mixing.score import Score
from pare_backends.quantization.mixing.solve import Decision, Option, best_mix

SPREAD = 0.2
"""Of the logarithm of a near mix's scores, about what a score is off by: SPDY's random coefficients
(arXiv 2201.13096) with the optimum in their midst."""
UNIFORM = 2
"""Uniform mixes that are evaluated, the best by their scores."""
TRIES = 4
"""Draws for each near mix that is wanted: many are the optimum again."""


@dataclass(frozen=True)
class Candidate:
    """A mix under the budget. predicted: summed score of the first scorer"""

    source: str  # fisher, reconstruction, uniform or near
    formats: tuple[str, ...]  # of each layer in the model's order
    size_bytes: int
    predicted: float


def decisions_of(scores: Sequence[Score], fused_alike: bool) -> list[Decision]:
    """What is decided: layers that are given the same input share a format, or each has its own.

    scores: by one scorer
    """
    groups: dict[int, dict[str, list[Score]]] = {}
    for score in scores:
        alike = fused_alike and score.shares_input is not None
        number = score.shares_input if alike else score.layer_index
        assert number is not None  # mypy does not see that `alike` says so
        groups.setdefault(number, {}).setdefault(score.format, []).append(score)
    decisions = []
    for by_format in groups.values():
        options = tuple(
            Option(name, sum(s.size_bytes for s in rows), sum(s.value for s in rows))
            for name, rows in by_format.items()
        )
        members = next(iter(by_format.values()))
        decisions.append(Decision(tuple(score.layer for score in members), options))
    return decisions


@dataclass(frozen=True)
class Candidates:
    """All that is needed to make them. by_scorer: the scores of all layers, the first one's sums
    are the predictions; layers: in the model's order"""

    by_scorer: Mapping[str, Sequence[Score]]
    layers: Sequence[str]
    fused_alike: bool
    seed: int

    @property
    def first(self) -> str:
        return next(iter(self.by_scorer))

    def decisions(self, scorer: str) -> list[Decision]:
        return decisions_of(self.by_scorer[scorer], self.fused_alike)

    def mix(self, source: str, decisions: Sequence[Decision], budget_bytes: int) -> Candidate:
        """The best mix of these scores."""
        chosen = best_mix(decisions, budget_bytes)
        formats = {
            layer: option.format
            for decision, option in zip(decisions, chosen, strict=True)
            for layer in decision.layers
        }
        return self.made(source, formats)

    def made(self, source: str, formats: Mapping[str, str]) -> Candidate:
        taken = [s for s in self.by_scorer[self.first] if formats[s.layer] == s.format]
        return Candidate(
            source,
            tuple(formats[layer] for layer in self.layers),
            sum(score.size_bytes for score in taken),
            sum(score.value for score in taken),
        )

    def uniform(self, budget_bytes: int) -> list[Candidate]:
        """All layers in one format, of those within the budget, the best predicted first."""
        names = dict.fromkeys(score.format for score in self.by_scorer[self.first])
        all_of = [self.made("uniform", dict.fromkeys(self.layers, name)) for name in names]
        within = [one for one in all_of if one.size_bytes <= budget_bytes]
        return sorted(within, key=lambda one: one.predicted)

    def run(self, budget_bytes: int, count: int) -> list[Candidate]:
        """At most `count` different mixes: the optimum of the first scorer, uniform ones, the other
        scorers' optima, then near ones.

        raises: CallFailure "invalid" where not even the smallest formats fit
        """
        found = [self.mix(self.first, self.decisions(self.first), budget_bytes)]
        found += self.uniform(budget_bytes)[:UNIFORM]
        for scorer in list(self.by_scorer)[1:]:
            found.append(self.mix(scorer, self.decisions(scorer), budget_bytes))
        draw = random.Random(self.seed)
        base = self.decisions(self.first)
        for _ in range(TRIES * max(count, 0)):
            if len(distinct(found)) >= count:
                break
            found.append(self.mix("near", shaken(base, draw), budget_bytes))
        return distinct(found)[: max(count, 1)]


def shaken(decisions: Sequence[Decision], draw: random.Random) -> list[Decision]:
    """The same with scores that are off as scores are."""
    return [
        replace(
            one,
            options=tuple(
                replace(option, score=option.score * draw.lognormvariate(0, SPREAD))
                for option in one.options
            ),
        )
        for one in decisions
    ]


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The first of each mix, in the order of the first ones."""
    first: dict[tuple[str, ...], Candidate] = {}
    for one in candidates:
        first.setdefault(one.formats, one)
    return list(first.values())


def budget_of(
    average_bits: float | None, budget_bytes: int | None, weights: int, layers: int
) -> int:
    """Bytes of the linear layers. raises: CallFailure "bad_input" unless one is given"""
    if (average_bits is None) == (budget_bytes is None):
        raise CallFailure("bad_input", "Cannot mix formats: give bits per weight or bytes")
    if budget_bytes is not None:
        return budget_bytes
    # Shapes come beside, so that 3.25 bits hold a model of 3 bits in groups of 64.
    return int((average_bits or 0) * weights / 8) + layers * SHAPE_BYTES
