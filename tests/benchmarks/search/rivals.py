"""The rivals' side of `deno task bench:search`: suggests points, is told their values, over JSON lines.

One request begins a run: {rival, dimensions, objectives, seed, start, trials}. Then it writes one point
a line and reads its values, null for an invalid one, until the trials are used up.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

Dimension = dict[str, Any]
Run = dict[str, Any]
# Takes a point, or a place of the unit cube, and gives its values; None: invalid.
Evaluate = Callable[[dict[str, Any]], "list[float] | None"]

POPULATION = 20
INVALID = 1e6  # an objective where pymoo wants a number: its constraint says that it is invalid


def _suggest(trial: Any, dimension: Dimension) -> Any:
    name = dimension["name"]
    if dimension["kind"] in ("choice", "ordinal"):
        return trial.suggest_categorical(name, dimension["choices"])
    low, high, log = dimension["minimum"], dimension["maximum"], dimension.get("log", False)
    if dimension["kind"] == "integer":
        return trial.suggest_int(name, int(low), int(high), log=log)
    return trial.suggest_float(name, low, high, log=log)


def _point(trial: Any, dimensions: list[Dimension]) -> dict[str, Any]:
    """The values of all dimensions whose conditions hold, in their order."""
    point: dict[str, Any] = {}
    for dimension in dimensions:
        when = dimension.get("when")
        if when is None or (when["name"] in point and point[when["name"]] in when["is"]):
            point[dimension["name"]] = _suggest(trial, dimension)
    return point


def _optuna_sampler(rival: str, seed: int) -> Any:
    from optuna import samplers

    if rival == "optuna_random":
        return samplers.RandomSampler(seed=seed)
    if rival == "optuna_nsga2":
        return samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
    if rival == "optuna_tpe":
        return samplers.TPESampler(seed=seed)
    if rival == "optuna_tpe_group":
        return samplers.TPESampler(multivariate=True, group=True, seed=seed)
    return samplers.GPSampler(deterministic_objective=True, seed=seed)


def run_optuna(run: Run, evaluate: Evaluate) -> float:
    """Seconds that the suggestions after the start took."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = _optuna_sampler(run["rival"], run["seed"])
    study = optuna.create_study(directions=["minimize"] * run["objectives"], sampler=sampler)
    for point in run["start"]:
        study.enqueue_trial(point)
    spent = 0.0
    for number in range(run["trials"]):
        begun = time.perf_counter()
        trial = study.ask()
        point = _point(trial, run["dimensions"])
        asked = time.perf_counter() - begun
        values = evaluate({"point": point})
        begun = time.perf_counter()
        if values is None:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, values)
        if number >= len(run["start"]):
            spent += asked + time.perf_counter() - begun
    return spent


def run_pymoo(run: Run, evaluate: Evaluate) -> float:
    """Over the unit cube: a place of it is turned into a point by whoever evaluates it."""
    import numpy as np
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination

    width = len(run["dimensions"])
    generator = np.random.default_rng(run["seed"])
    first = generator.random((POPULATION, width))
    for row, units in enumerate(run["start_units"]):
        for column, unit in enumerate(units):
            if unit is not None:
                first[row, column] = unit
    problem = Problem(n_var=width, n_obj=run["objectives"], n_ieq_constr=1, xl=0.0, xu=1.0)
    algorithm = NSGA2(pop_size=POPULATION, sampling=first)
    algorithm.setup(problem, termination=NoTermination(), seed=run["seed"], verbose=False)
    left, spent = run["trials"], 0.0
    while left > 0:
        begun = time.perf_counter()
        children = algorithm.ask()
        spent += time.perf_counter() - begun
        found, broken = [], []
        for child in children[:left]:
            values = evaluate({"units": [float(one) for one in child.X]})
            found.append([INVALID] * run["objectives"] if values is None else values)
            broken.append([1.0 if values is None else -1.0])
        left -= len(children[:left])
        if left <= 0:
            break
        children.set("F", np.asarray(found), "G", np.asarray(broken))
        begun = time.perf_counter()
        algorithm.tell(infills=children)
        spent += time.perf_counter() - begun
    return spent


def main() -> None:
    """Answers requests until there are no more."""
    warnings.filterwarnings("ignore")
    out = sys.stdout
    sys.stdout = sys.stderr  # libraries print

    def evaluate(answer: dict[str, Any]) -> list[float] | None:
        out.write(json.dumps(answer) + "\n")
        out.flush()
        told: list[float] | None = json.loads(sys.stdin.readline())
        return told

    for line in iter(sys.stdin.readline, ""):
        run: Run = json.loads(line)
        work = run_pymoo if run["rival"] == "pymoo_nsga2" else run_optuna
        suggested = max(1, run["trials"] - len(run["start"]))
        out.write(json.dumps({"suggestion_ms": 1000 * work(run, evaluate) / suggested}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
