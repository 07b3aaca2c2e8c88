"""What is told of each group of a task's rows beside the task's own figure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pare_backends.evaluation.outcome import SliceScore, mean_and_error
from pare_backends.evaluation.strata import by_stratum, mean_by, mean_chance, stratified
from pare_backends.evaluation.tasks.groups import Groups

WEIGHTED = "weighted_by_size"


@dataclass(frozen=True)
class Sampled:
    """The samples of a task of groups: each one's group, score and score of guessing."""

    names: Sequence[str]
    scores: Sequence[float]
    chances: Sequence[float | None]
    rows: Mapping[str, int]
    """Of every group in the task's data."""
    weighed: bool
    """Whether a group counts by its rows, as a sample that is drawn by groups needs."""

    @property
    def sizes(self) -> Mapping[str, int] | None:
        """What each group counts by in the benchmark's mean; None: every sample counts alike."""
        return self.rows if self.weighed else None


def how_weighed(groups: Groups, sampled: Sampled) -> str:
    """In words, for the figure's method."""
    if not sampled.weighed:
        return "mean over samples, of all groups together"
    lacking = len(sampled.rows) - len(set(sampled.names))
    without = f"; {lacking} of {len(sampled.rows)} have no sample" if lacking else ""
    return f"each {groups.field} weighed by its rows in the data{without}"


def slice_scores(groups: Groups | None, sampled: Sampled) -> list[SliceScore]:
    """Every group's score, the mean weighted by size and the unweighted means that are asked for.

    A group of one sample has no standard error of its own; see `strata.py` for what it takes in
    the means.
    """
    if groups is None:
        return []
    names, scores, chances = sampled.names, sampled.scores, sampled.chances
    value, error = mean_by(names, scores, sampled.sizes)
    guessed = mean_chance(names, chances, sampled.sizes)
    how = "of all groups together" if sampled.weighed else how_weighed(groups, sampled)
    found = [SliceScore(WEIGHTED, value, error, len(scores), how, guessed)]
    for mean, pattern in (groups.means or {}).items():
        found.append(_unweighted(mean, groups.field, pattern, sampled))
    guessed_by = by_stratum(names, [math.nan if one is None else one for one in chances])
    for name, own in sorted(by_stratum(names, scores).items()):
        value, error = mean_and_error(own)
        chance = math.fsum(guessed_by[name]) / len(own)
        found.append(
            SliceScore(
                name,
                value,
                error,
                len(own),
                f"{groups.field} {name}",
                None if math.isnan(chance) else chance,
                sampled.rows[name],
            )
        )
    return found


def _unweighted(name: str, field: str, pattern: str, sampled: Sampled) -> SliceScore:
    """Mean over groups of one weight each, variants of one sharing its weight by their rows."""
    merged = {group: re.sub(pattern, "", group) for group in set(sampled.names)}
    together = Counter[str]()
    for group, one in merged.items():
        together[one] += sampled.rows[group]
    shares = {group: sampled.rows[group] / together[one] for group, one in merged.items()}
    value, error = stratified(sampled.names, sampled.scores, shares)
    return SliceScore(
        slice=name,
        value=value,
        standard_error=error,
        n=len(sampled.scores),
        how=f"unweighted mean over {len(together)} of {field}",
        chance=mean_chance(sampled.names, sampled.chances, shares),
    )
