"""Writes a real Optuna file with all that an import must keep; prints what Optuna reads back.

Run as `python make_optuna.py FILE.db`.
"""

from __future__ import annotations

import datetime
import json
import math
import sys
import warnings

import optuna

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.CRITICAL)
STORAGE = f"sqlite:///{sys.argv[1]}"


def two_objectives(trial: optuna.Trial) -> tuple[float, float]:
    trial.suggest_float("lr", 1e-4, 1e-1, log=True)
    bits = trial.suggest_int("bits", 2, 8, step=2)
    trial.suggest_categorical("kind", ["gptq", None, 3, True, 2.5])
    trial.suggest_float("share", 0, 1, step=0.25)
    trial.set_user_attr("note", {"a": 1})
    trial.set_user_attr("words", "as they are")
    if trial.number == 2:
        raise ValueError("boom")
    return trial.number / 10, math.inf if trial.number == 1 else bits


def pruned(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -1, 1)
    for step in range(3):
        trial.report(
            math.nan if step == 1 and trial.number == 0 else trial.number * 10 + step, step
        )
        if trial.number == 2 and step == 1:
            raise optuna.TrialPruned
    return x


def utc(moment: datetime.datetime | None) -> str | None:
    if moment is None:
        return None
    text = moment.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


study = optuna.create_study(
    study_name="two objectives",
    storage=STORAGE,
    directions=["maximize", "minimize"],
    sampler=optuna.samplers.RandomSampler(seed=1),
)
study.set_user_attr("owner", "me")
study.set_metric_names(["accuracy", "latency"])
study.optimize(two_objectives, n_trials=5, catch=(ValueError,))
study.enqueue_trial({"lr": 0.01, "bits": 4})
other = optuna.create_study(
    study_name="pruned", storage=STORAGE, sampler=optuna.samplers.RandomSampler(seed=1)
)
other.optimize(pruned, n_trials=3)
other.ask()
optuna.create_study(study_name="empty", storage=STORAGE)


def told(value: object) -> object:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


print(
    json.dumps(
        [
            {
                "study_name": one.study_name,
                "number": trial.number,
                "state": trial.state.name,
                "started_at": utc(trial.datetime_start),
                "finished_at": utc(trial.datetime_complete),
                "params": trial.params,
                "values": [told(value) for value in trial.values or []],
                "intermediate": [
                    [k, told(v)] for k, v in sorted(trial.intermediate_values.items())
                ],
            }
            for one in (study, other)
            for trial in one.trials
        ]
    )
)
