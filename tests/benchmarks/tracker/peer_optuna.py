"""Optuna's journal storage: one intermediate value a call, each on disk when the call returns."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from peer_points import main, value


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Seconds of `calls` calls, and the median of one in milliseconds."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = str(Path(request["folder"]) / "optuna.log")
    storage = JournalStorage(JournalFileBackend(path))
    study = optuna.create_study(storage=storage, study_name="bench")
    trial = study.ask()
    number = trial._trial_id  # what set_trial_intermediate_value of a storage takes
    times = []
    for step in range(int(request["calls"])):
        started = time.perf_counter()
        storage.set_trial_intermediate_value(number, step, value(step))
        times.append(time.perf_counter() - started)
    return {
        "version": optuna.__version__,
        "calls": len(times),
        "seconds": sum(times),
        "one_ms": statistics.median(times) * 1000,
    }


if __name__ == "__main__":
    main(measure)
