"""Writes the same runs into a store of MLflow's: `make_runs.py STORE_URI`; prints their ids."""

import json
import sys

from mlflow.entities import Metric, Param, RunTag
from mlflow.tracking import MlflowClient


def main(uri: str) -> None:
    client = MlflowClient(uri)
    experiment = client.create_experiment("kept runs")
    other = client.create_experiment("another")
    parent = client.create_run(experiment, start_time=1_700_000_000_000, run_name="parent")
    child = client.create_run(
        experiment,
        start_time=1_700_000_001_000,
        run_name="child: 1",
        tags={"mlflow.parentRunId": parent.info.run_id, "note": "two\nlines: é"},
    )
    losses = [0.5, float("nan"), float("inf"), float("-inf"), 0.25]
    client.log_batch(
        child.info.run_id,
        metrics=[Metric("train/loss", v, 1_700_000_002_000 + i, i) for i, v in enumerate(losses)]
        + [Metric("accuracy", 0.75, 1_700_000_003_000, 0)],
        params=[Param("lr", "1e-3"), Param("layers/0", "yes: no")],
        tags=[RunTag("team", "007")],
    )
    client.set_terminated(child.info.run_id, "FAILED", 1_700_000_009_000)
    client.set_terminated(parent.info.run_id, "FINISHED", 1_700_000_010_000)
    gone = client.create_run(experiment, run_name="gone")
    client.delete_run(gone.info.run_id)
    client.create_run(other, run_name="elsewhere")
    print(json.dumps({"parent": parent.info.run_id, "child": child.info.run_id}))


main(sys.argv[1])
