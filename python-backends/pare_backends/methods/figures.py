"""Figures of an artifact: what a method tells, in numbers, of what it left."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pare_backends.failures import CallFailure

METRIC = re.compile(r"[a-z][a-z0-9_]{0,63}")
MAX_FIGURES = 50_000
MAX_METRICS = 64
MAX_LAYER = 256
MAX_UNIT = 64
OWN_METRICS = ("cosine", "energy_j", "estimated_energy_j")
"""Names that pare gives figures of its own."""


@dataclass(frozen=True)
class Figure:
    """`ArtifactFigure` of the wire."""

    metric: str
    layer: str | None
    value: float
    unit: str


def problem(figure: Figure) -> str | None:
    """What is wrong with a figure by itself, as the end of a sentence."""
    if METRIC.fullmatch(figure.metric) is None:
        return "its name is of small letters, digits and _, 64 at most"
    if figure.metric in OWN_METRICS:
        return "pare measures that itself"
    if not math.isfinite(figure.value):
        return f"it is {figure.value}, no finite number"
    if figure.layer is not None and not 0 < len(figure.layer) <= MAX_LAYER:
        return f"its layer's name has {len(figure.layer)} characters, not 1 to {MAX_LAYER}"
    if not 0 < len(figure.unit) <= MAX_UNIT:
        return f"its unit has {len(figure.unit)} characters, not 1 to {MAX_UNIT}"
    return None


def checked(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """The figures as they go over the wire, in their order.

    raises: CallFailure "crash", as the method is wrong, at the first that cannot be kept
    """
    if len(figures) > MAX_FIGURES:
        raise CallFailure(
            "crash",
            f"Cannot keep {len(figures)} figures of one artifact: {MAX_FIGURES} is the most",
        )
    units: dict[str, str] = {}
    told: set[tuple[str, str | None]] = set()
    for one in figures:
        wrong = problem(one)
        if units.setdefault(one.metric, one.unit) != one.unit:
            wrong = f"it is in {one.unit} here and in {units[one.metric]} before"
        elif (one.metric, one.layer) in told:
            wrong = "it was told before"
        elif len(units) > MAX_METRICS:
            wrong = f"an artifact has {MAX_METRICS} kinds of figures at most"
        if wrong is not None:
            of = "" if one.layer is None else f" of {one.layer[:MAX_LAYER]}"
            raise CallFailure("crash", f"Cannot keep the figure {one.metric[:64]!r}{of}: {wrong}")
        told.add((one.metric, one.layer))
    return [asdict(one) for one in figures]
