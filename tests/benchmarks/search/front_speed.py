"""Shortest times of Optuna's and moocore's hypervolume and ranks, for `bench:search --front`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

# Beyond it, Optuna's hypervolume of five objectives takes minutes.
OPTUNA_POINTS = {2: 10_000, 3: 1_000, 4: 100}


def shortest(work: Callable[[], Any], repeat_ms: float) -> float:
    """Milliseconds of the fastest of as many calls as fit."""
    best, end = float("inf"), time.perf_counter() + repeat_ms / 1000
    while True:
        begun = time.perf_counter()
        work()
        now = time.perf_counter()
        best = min(best, 1000 * (now - begun))
        if now >= end:
            return best


def main() -> None:
    """Reads the cases from standard input and writes a row for each."""
    import moocore
    import numpy as np
    from optuna._hypervolume import compute_hypervolume
    from optuna.study._multi_objective import _fast_non_domination_rank

    request = json.loads(sys.stdin.read())
    rows = []
    for case in request["cases"]:
        points = np.asarray(case["rows"])
        count, width = points.shape
        corner = np.full(width, 1.1)
        if case["what"] == "ranks":
            optuna = shortest(lambda p=points: _fast_non_domination_rank(p), request["repeat_ms"])
            peer = shortest(lambda p=points: moocore.pareto_rank(p), request["repeat_ms"])
        else:
            allowed = count <= OPTUNA_POINTS.get(width, 0)
            optuna = (
                shortest(lambda p=points, c=corner: compute_hypervolume(p, c), request["repeat_ms"])
                if allowed
                else None
            )
            peer = shortest(
                lambda p=points, c=corner: moocore.hypervolume(p, ref=c), request["repeat_ms"]
            )
        rows.append({"optuna": optuna, "moocore": peer})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
