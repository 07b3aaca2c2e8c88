"""Means over a sample that was drawn by strata, such as MMLU's subjects, each by its rows.

`core/evidence/strata.ts` has the same definitions for paired differences.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from pare_backends.evaluation.outcome import mean_and_error


def by_stratum(names: Sequence[str], scores: Sequence[float]) -> dict[str, list[float]]:
    """The scores of every stratum, in order of its first sample."""
    found: dict[str, list[float]] = {}
    for name, score in zip(names, scores, strict=True):
        found.setdefault(name, []).append(score)
    return found


def stratified(
    names: Sequence[str], scores: Sequence[float], sizes: Mapping[str, float]
) -> tuple[float, float | None]:
    """Mean with its standard error, each stratum counting by its size over those that have samples:
    sum W mean and sqrt(sum W^2 s^2 / n) (Cochran 1977, 5.3 and 5.4), without a correction for a
    finite benchmark.

    A stratum of one sample has no variance of its own: it takes the one pooled over the others,
    and where all have one sample, that of all samples together. No error with one score.
    """
    parts = by_stratum(names, scores)
    total = math.fsum(sizes[name] for name in parts)
    shares = [sizes[name] / total for name in parts]
    mean = math.fsum(
        share * (math.fsum(own) / len(own))
        for share, own in zip(shares, parts.values(), strict=True)
    )
    if len(scores) < 2:
        return mean, None
    freedom = sum(len(own) - 1 for own in parts.values())
    pooled = (
        statistics.variance(scores)
        if freedom == 0
        else math.fsum(statistics.variance(own) * (len(own) - 1) for own in _several(parts))
        / freedom
    )
    variance = math.fsum(
        share**2 * (pooled if len(own) == 1 else statistics.variance(own)) / len(own)
        for share, own in zip(shares, parts.values(), strict=True)
    )
    return mean, math.sqrt(variance)


def _several(parts: Mapping[str, Sequence[float]]) -> list[Sequence[float]]:
    return [own for own in parts.values() if len(own) > 1]


def mean_by(
    names: Sequence[str], scores: Sequence[float], sizes: Mapping[str, float] | None
) -> tuple[float, float | None]:
    """The stratified mean, or the plain one where every sample counts alike (`sizes` None)."""
    return mean_and_error(scores) if sizes is None else stratified(names, scores, sizes)


def mean_chance(
    names: Sequence[str], chances: Sequence[float | None], sizes: Mapping[str, float] | None
) -> float | None:
    """The score of guessing by the weights of the scores' mean; None where that of any sample is
    not known."""
    known = [chance for chance in chances if chance is not None]
    return mean_by(names, known, sizes)[0] if known and len(known) == len(chances) else None
