"""Ten thousand runs in MLflow's SQLite file.

A few are logged through the client and timed; the others are copies of the first one's rows with
their own ids and values, as logging them all takes minutes.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from pathlib import Path
from typing import Any

from peer_points import START_MS

METRICS = 20
NAMED = ("accuracy", "reward", "perplexity", "latency_ms", "size_bytes")
BY_CLIENT = 50


def figure(number: int, place: int) -> float:
    """A number in [0, 1) that looks like chance (the last steps of MurmurHash3)."""
    mixed = (number * METRICS + place + 1) * 0x9E3779B1 & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 15) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return (mixed ^ mixed >> 16) / 2**32


def metrics_of(number: int) -> dict[str, float]:
    """Twenty metrics of a run, the same as own_trials.ts records."""
    names = [*NAMED, *(f"metric_{index}" for index in range(METRICS - len(NAMED)))]
    return {name: figure(number, place) for place, name in enumerate(names)}


def log_run(client: Any, experiment_id: str, number: int) -> str:
    """One run as a program logs it: created, its metrics in one batch, ended."""
    from mlflow.entities import Metric

    run_id = client.create_run(experiment_id, run_name=f"t{number}").info.run_id
    batch = [Metric(name, value, START_MS, 0) for name, value in metrics_of(number).items()]
    client.log_batch(run_id, metrics=batch)
    client.set_terminated(run_id)
    return run_id


def rows_of(database: sqlite3.Connection, table: str, run_id: str) -> tuple[list[str], list[Any]]:
    """Column names and rows that a table has of a run."""
    cursor = database.execute(f"SELECT * FROM {table} WHERE run_uuid = ?", (run_id,))
    return [name for name, *_ in cursor.description], cursor.fetchall()


def copied(
    names: list[str], rows: list[Any], run_id: str, values: dict[str, float]
) -> list[tuple[Any, ...]]:
    """The same rows for another run: its id, and its metrics' values."""
    copies = []
    for row in rows:
        fields = dict(zip(names, row, strict=True))
        old = fields["run_uuid"]
        fields = {
            name: field.replace(old, run_id) if isinstance(field, str) else field
            for name, field in fields.items()
        }
        if "value" in fields and fields.get("key") in values:
            fields["value"] = values[fields["key"]]
        copies.append(tuple(fields.values()))
    return copies


def fill_runs(client: Any, path: Path, experiment_id: str, count: int) -> dict[str, float]:
    """Fills an experiment; how long one run takes through the client, and the copies."""
    started = time.perf_counter()
    first = [log_run(client, experiment_id, number) for number in range(min(BY_CLIENT, count))][0]
    one_run_ms = (time.perf_counter() - started) * 1000 / min(BY_CLIENT, count)
    started = time.perf_counter()
    database = sqlite3.connect(path, timeout=60)
    with database:
        for table in ("runs", "metrics", "latest_metrics", "tags"):
            names, rows = rows_of(database, table, first)
            marks = ", ".join("?" for _ in names)
            for number in range(BY_CLIENT, count):
                run_id = uuid.UUID(int=number).hex
                values = metrics_of(number)
                database.executemany(
                    f"INSERT INTO {table} VALUES ({marks})", copied(names, rows, run_id, values)
                )
    database.close()
    copied_s = time.perf_counter() - started
    check(client, count)
    return {"one_run_ms": one_run_ms, "copied_s": copied_s}


def check(client: Any, count: int) -> None:
    """A copied run must be to the client what a logged one is."""
    run = client.get_run(uuid.UUID(int=count - 1).hex)
    if run.data.metrics != metrics_of(count - 1) or run.info.status != "FINISHED":
        raise SystemExit(f"a copied run differs: {run.data.metrics}")
