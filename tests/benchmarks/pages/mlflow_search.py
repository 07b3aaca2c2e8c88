"""What MLflow's page waits for: its server's answer with the first runs of an experiment."""

from __future__ import annotations

import json
import os
import statistics
import sys
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tracker"))

from mlflow_runs import fill_runs
from peer_mlflow import server
from peer_points import main, seconds


def search(address: str, experiment_id: str, shown: int) -> int:
    """Asks as the table of runs does, in order of a metric; how many runs came."""
    body = {
        "experiment_ids": [experiment_id],
        "order_by": ["metrics.accuracy DESC"],
        "max_results": shown,
    }
    asked = urllib.request.Request(
        f"{address}/api/2.0/mlflow/runs/search",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=300) as answer:
        return len(json.load(answer)["runs"])


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Median seconds of the search over so many runs."""
    folder = Path(request["folder"])
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    import mlflow
    from mlflow import MlflowClient

    runs, shown = int(request["runs"]), int(request["shown"])
    with server(folder) as address:
        client = MlflowClient(tracking_uri=address)
        experiment_id = client.create_experiment("runs")
        fill_runs(client, folder / "mlflow.db", experiment_id, runs)
        if search(address, experiment_id, shown) != min(shown, runs):
            raise SystemExit("MLflow's search gave another number of runs")
        times = [seconds(lambda: search(address, experiment_id, shown)) for _ in range(5)]
    return {"version": mlflow.__version__, "search_s": statistics.median(times)}


if __name__ == "__main__":
    main(measure)
