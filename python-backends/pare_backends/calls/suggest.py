"""Call `suggest`: what Optuna proposes next for a search space and its history.

It is told everything each time and keeps nothing: the same request has the same answer.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from pare_backends.failures import CallFailure
from pare_backends.progress import Report

CONSTRAINTS = "constraints"
"""Where Optuna keeps what its constraints function gave for a trial."""

PointValue = float | str | bool


@dataclass(frozen=True)
class Condition:
    """A dimension exists only where another one, before it, has one of these values."""

    name: str
    values: list[PointValue]


@dataclass(frozen=True)
class SuggestDimension:
    """One dimension of the space; `minimum` and `maximum` of real and integer, else `choices`."""

    name: str
    kind: Literal["real", "integer", "ordinal", "choice"]
    minimum: float | None
    maximum: float | None
    log: bool
    choices: list[PointValue] | None
    when: Condition | None


@dataclass(frozen=True)
class SeenPoint:
    """A point that was tried. `values`: one an objective; None: not measured."""

    point: dict[str, PointValue]
    state: Literal["done", "stopped", "infeasible", "failed", "pending"]
    values: list[float] | None
    violations: list[float] | None


@dataclass(frozen=True)
class SuggestRequest:
    """Request of the call, as in `core/calls/declared/suggest.ts`."""

    seed: int
    directions: list[Literal["minimize", "maximize"]]
    dimensions: list[SuggestDimension]
    seen: list[SeenPoint]
    count: int


def run(request: SuggestRequest, report: Report) -> dict[str, Any]:
    """Points that TPE proposes one after another, each as if those before it had failed."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    study = told_study(request)
    points: list[dict[str, PointValue]] = []
    with report.span("suggest", library=True):
        for _ in range(request.count):
            trial = study.ask()
            points.append(suggested(trial, request.dimensions))
            study.tell(trial, state=TrialState.FAIL)
    return {"points": points}


def told_study(request: SuggestRequest) -> optuna.Study:
    """A study in memory that has been told of every point with a place in the space."""
    constrained = any(one.violations for one in request.seen)
    sampler = optuna.samplers.TPESampler(
        seed=request.seed,
        constraints_func=violations_of if constrained else None,
    )
    study = optuna.create_study(directions=list(request.directions), sampler=sampler)
    width = max((len(one.violations or []) for one in request.seen), default=0)
    for number, one in enumerate(request.seen):
        study.add_trial(told_trial(one, request, width, number))
    return study


def violations_of(trial: FrozenTrial) -> list[float]:
    """What the trial was added with; those that are proposed here have none."""
    return list(trial.system_attrs.get(CONSTRAINTS, []))


def told_trial(one: SeenPoint, request: SuggestRequest, width: int, number: int) -> FrozenTrial:
    """The point as a trial; one without finite values has failed, as Optuna takes no NaN."""
    params: dict[str, Any] = {}
    distributions: dict[str, BaseDistribution] = {}
    for dimension in request.dimensions:
        if dimension.name not in one.point:
            continue
        value = one.point[dimension.name]
        params[dimension.name] = inner_value(dimension, value, number)
        distributions[dimension.name] = distribution(dimension)
    values = one.values
    if values is not None and len(values) != len(request.directions):
        raise CallFailure(
            "bad_input",
            f"Cannot tell Optuna of point {number}: it has {len(values)} values for "
            f"{len(request.directions)} objectives",
        )
    if one.state == "pending":
        return create_trial(state=TrialState.RUNNING, params=params, distributions=distributions)
    measured = one.state in ("done", "stopped") and values is not None
    if values is None or not measured or not all(math.isfinite(value) for value in values):
        return create_trial(state=TrialState.FAIL, params=params, distributions=distributions)
    told = [*(one.violations or []), *[0.0] * width][:width]
    return create_trial(
        values=values,
        params=params,
        distributions=distributions,
        system_attrs={CONSTRAINTS: told} if width > 0 else {},
    )


def distribution(dimension: SuggestDimension) -> BaseDistribution:
    """The dimension as Optuna has it; values in order become their numbers, which keep it."""
    if dimension.kind in ("ordinal", "choice"):
        choices = dimension.choices or []
        if dimension.kind == "choice":
            return CategoricalDistribution(choices)
        return IntDistribution(0, len(choices) - 1)
    low, high = dimension.minimum, dimension.maximum
    if low is None or high is None:
        raise CallFailure(
            "bad_input", f"Cannot search {dimension.name}: it has no minimum or no maximum"
        )
    if dimension.kind == "integer":
        return IntDistribution(int(low), int(high), log=dimension.log)
    return FloatDistribution(low, high, log=dimension.log)


def inner_value(dimension: SuggestDimension, value: PointValue, number: int) -> PointValue | int:
    """A value as the distribution has it."""
    if dimension.kind == "integer":
        return int(value)
    if dimension.kind == "real":
        return float(value)
    choices = dimension.choices or []
    # True is 1 in Python: a flag is told from a number by its type too.
    found = [
        at
        for at, choice in enumerate(choices)
        if choice == value and isinstance(choice, bool) == isinstance(value, bool)
    ]
    if not found:
        raise CallFailure(
            "bad_input",
            f"Cannot tell Optuna of point {number}: {dimension.name} has {value!r}, which is none "
            f"of its choices",
        )
    return found[0] if dimension.kind == "ordinal" else choices[found[0]]


def suggested(trial: Trial, dimensions: list[SuggestDimension]) -> dict[str, PointValue]:
    """A value for every dimension that exists, each asked for behind the one that it hangs on."""
    point: dict[str, PointValue] = {}
    for dimension in dimensions:
        when = dimension.when
        if when is not None and (when.name not in point or point[when.name] not in when.values):
            continue
        point[dimension.name] = one_value(trial, dimension)
    return point


def one_value(trial: Trial, dimension: SuggestDimension) -> PointValue:
    """Optuna's value of a dimension, as the space has it."""
    name, found = dimension.name, distribution(dimension)
    if isinstance(found, FloatDistribution):
        return trial.suggest_float(name, found.low, found.high, log=found.log)
    if isinstance(found, IntDistribution):
        at = trial.suggest_int(name, found.low, found.high, log=found.log)
        return (dimension.choices or [])[at] if dimension.kind == "ordinal" else at
    chosen: PointValue = trial.suggest_categorical(name, dimension.choices or [])
    return chosen
