"""The rivals' side of `deno task bench:search`: suggests points, is told their values, over JSON lines.

One request begins a run: {rival, dimensions, objectives, limits, noisy, seed, start, trials}. Then it writes
one point a line and reads what became of it, {state, values, violations}, until the trials are used up.
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
# Takes a point, or a place of the unit cube, and tells what became of it.
Evaluate = Callable[[dict[str, Any]], dict[str, Any]]

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


def _optuna_sampler(run: Run) -> Any:
    """A sampler as it ships, which is told of the limits where there are some."""
    from optuna import samplers

    rival, seed, limits = run["rival"], run["seed"], run["limits"]
    # What has no values exceeds every limit, as far as Optuna asks.
    told = {"constraints_func": lambda trial: trial.user_attrs.get("violations", [1.0] * limits)}
    more = told if limits > 0 else {}
    if rival == "optuna_random":
        return samplers.RandomSampler(seed=seed)
    if rival == "optuna_nsga2":
        return samplers.NSGAIISampler(population_size=POPULATION, seed=seed, **more)
    if rival == "optuna_tpe":
        return samplers.TPESampler(seed=seed, **more)
    if rival == "optuna_tpe_group":
        return samplers.TPESampler(multivariate=True, group=True, seed=seed, **more)
    return samplers.GPSampler(deterministic_objective=not run["noisy"], seed=seed, **more)


def run_optuna(run: Run, evaluate: Evaluate) -> float:
    """Seconds that the suggestions after the start took."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = _optuna_sampler(run)
    study = optuna.create_study(directions=["minimize"] * run["objectives"], sampler=sampler)
    for point in run["start"]:
        study.enqueue_trial(point)
    spent = 0.0
    for number in range(run["trials"]):
        begun = time.perf_counter()
        trial = study.ask()
        point = _point(trial, run["dimensions"])
        asked = time.perf_counter() - begun
        outcome = evaluate({"point": point})
        begun = time.perf_counter()
        if outcome["state"] == "done":
            trial.set_user_attr("violations", outcome["violations"])
            study.tell(trial, outcome["values"])
        else:
            failed = outcome["state"] == "failed"
            states = optuna.trial.TrialState
            study.tell(trial, state=states.FAIL if failed else states.PRUNED)
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
    limits = 1 + run["limits"]
    problem = Problem(n_var=width, n_obj=run["objectives"], n_ieq_constr=limits, xl=0.0, xu=1.0)
    algorithm = NSGA2(pop_size=POPULATION, sampling=first)
    algorithm.setup(problem, termination=NoTermination(), seed=run["seed"], verbose=False)
    left, spent = run["trials"], 0.0
    while left > 0:
        begun = time.perf_counter()
        children = algorithm.ask()
        spent += time.perf_counter() - begun
        found, broken = [], []
        for child in children[:left]:
            outcome = evaluate({"units": [float(one) for one in child.X]})
            done = outcome["state"] == "done"
            found.append(outcome["values"] if done else [INVALID] * run["objectives"])
            broken.append([-1.0, *outcome["violations"]] if done else [1.0] * limits)
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

    def evaluate(answer: dict[str, Any]) -> dict[str, Any]:
        out.write(json.dumps(answer) + "\n")
        out.flush()
        told: dict[str, Any] = json.loads(sys.stdin.readline())
        return told

    for line in iter(sys.stdin.readline, ""):
        run: Run = json.loads(line)
        work = run_pymoo if run["rival"] == "pymoo_nsga2" else run_optuna
        suggested = max(1, run["trials"] - len(run["start"]))
        out.write(json.dumps({"suggestion_ms": 1000 * work(run, evaluate) / suggested}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
