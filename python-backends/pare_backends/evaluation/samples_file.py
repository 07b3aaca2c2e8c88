"""A file of per-sample results: Parquet, one row a sample, in the order of the tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from pare_backends.evaluation.outcome import TaskOutcome

NUMBERS = ("score", "log_likelihood", "seconds")
TEXTS = ("task", "sample_id", "sample_hash", "prompt_hash", "answer", "gold")


def write_samples(path: Path, outcomes: Iterable[TaskOutcome]) -> None:
    """Writes the samples of every task; the file is there whole or not at all."""
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema(
        [(name, pyarrow.string()) for name in TEXTS]
        + [(name, pyarrow.float64()) for name in NUMBERS]
    )
    rows = [asdict(sample) for outcome in outcomes for sample in outcome.samples]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), partial)
    partial.replace(path)
