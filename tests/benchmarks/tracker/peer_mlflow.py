"""MLflow's Python client on a real local server with SQLite."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlflow_runs import fill_runs
from peer_points import START_MS, main, seconds, value

BATCH = 1_000  # the largest that the server takes


def free_port() -> int:
    """A port that nobody uses at the moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A server of its own as `mlflow server` starts it, until it has answered; its address."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    words = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    words += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    words += ["--artifacts-destination", str(folder / "artifacts")]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            words, stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
        try:
            wait_for(address, process)
            yield address
        finally:
            os.killpg(process.pid, 15)
            process.wait(30)


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    """Returns when the server says that it is well."""
    for _ in range(240):
        if process.poll() is not None:
            raise SystemExit("the MLflow server ended before it answered")
        try:
            urllib.request.urlopen(f"{address}/health", timeout=2).read()
            return
        except OSError:
            time.sleep(0.5)
    raise SystemExit("the MLflow server did not answer within two minutes")


def database_bytes(folder: Path) -> int:
    """Size of the SQLite file with its journals."""
    return sum(path.stat().st_size for path in folder.glob("mlflow.db*"))


def log_points(client: Any, run_id: str, points: int) -> float:
    """Seconds of logging one metric in the largest batches; the objects are made before."""
    from mlflow.entities import Metric

    steps = range(points)
    metrics = [Metric("loss", value(step), START_MS + step, step) for step in steps]
    batches = [metrics[first : first + BATCH] for first in range(0, points, BATCH)]
    return seconds(lambda: [client.log_batch(run_id, metrics=batch) for batch in batches])


def one_point_ms(client: Any, run_id: str, calls: int) -> float:
    """Median milliseconds of `log_metric`, which waits for the server's answer."""
    times = [
        seconds(lambda step=step: client.log_metric(run_id, "single", value(step), step=step))
        for step in range(calls)
    ]
    return statistics.median(times) * 1000


def series_ms(address: str, run_id: str, repeats: int) -> tuple[float, int]:
    """Median milliseconds of the server's own down-sampled history, and how many points it gave."""
    import json

    url = (
        f"{address}/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval"
        f"?run_ids={run_id}&metric_key=loss&max_results=1000"
    )
    times, count = [], 0
    for _ in range(repeats + 1):
        started = time.perf_counter()
        answer = json.loads(urllib.request.urlopen(url, timeout=300).read())
        times.append(time.perf_counter() - started)
        count = len(answer["metrics"])
    return statistics.median(times[1:]) * 1000, count


def search_ms(client: Any, experiment_id: str, repeats: int) -> tuple[float, int]:
    """Median milliseconds of a filtered, ordered search of 100 runs, and how many it found."""
    times, found = [], []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        found = client.search_runs(
            [experiment_id],
            filter_string="metrics.accuracy > 0.7",
            order_by=["metrics.reward DESC"],
            max_results=100,
        )
        times.append(time.perf_counter() - started)
    rewards = [run.data.metrics["reward"] for run in found]
    if rewards != sorted(rewards, reverse=True):
        raise SystemExit("MLflow's search is not in order")
    return statistics.median(times[1:]) * 1000, len(found)


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """All that the table needs of MLflow."""
    folder = Path(request["folder"])
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    import mlflow
    from mlflow import MlflowClient

    with server(folder) as address:
        client = MlflowClient(tracking_uri=address)
        run_id = client.create_run(client.create_experiment("points")).info.run_id
        one_ms = one_point_ms(client, run_id, int(request["singles"]))
        before = database_bytes(folder)
        points_s = log_points(client, run_id, int(request["points"]))
        grown = database_bytes(folder) - before
        sampled_ms, sampled = series_ms(address, run_id, 3)
        experiment_id = client.create_experiment("runs")
        filled = fill_runs(client, folder / "mlflow.db", experiment_id, int(request["runs"]))
        searched_ms, found = search_ms(client, experiment_id, 5)
    return {
        "version": mlflow.__version__,
        "points": int(request["points"]),
        "points_s": points_s,
        "bytes": grown,
        "one_ms": one_ms,
        "series_ms": sampled_ms,
        "series_points": sampled,
        "runs": int(request["runs"]),
        **filled,
        "search_ms": searched_ms,
        "search_found": found,
    }


if __name__ == "__main__":
    main(measure)
