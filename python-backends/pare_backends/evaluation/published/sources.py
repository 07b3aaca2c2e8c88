"""Where a published dataset's parts lie: in a folder as its authors hand it out, or on the hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pare_backends.evaluation.published.parquet_rows import parquet_rows
from pare_backends.evaluation.tasks.hub_rows import hub_part
from pare_backends.evaluation.tasks.records import Row, read_records
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure

ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".parquet")


def part_rows(
    task: WireTask,
    path: str | None,
    names: Sequence[str],
    hub: tuple[str, str | None, str],
) -> list[Row]:
    """One part's rows. names: of its file in the folder, without an ending, the first that is there
    counts; hub: dataset, config and split where no folder is named. Raises `CallFailure`."""
    if path is None:
        name, config, split = hub
        return hub_part(task, name, config, split, {}, None)
    folder = Path(path)
    tried = [folder / f"{name}{ending}" for name in names for ending in ENDINGS]
    found = next((one for one in tried if one.is_file()), None)
    if found is None:
        raise CallFailure(
            "bad_input",
            f"Cannot read {task.task} from {folder}: it has no {names[0]} that ends with"
            f" {', '.join(ENDINGS)}",
            hint="Lay it out as docs/serving.md says, or leave path out for the hub's",
        )
    return parquet_rows(found) if found.suffix == ".parquet" else read_records(found)


def text_of(row: Mapping[str, Any], field: str) -> str:
    """A text of a row; empty where it has none."""
    value = row.get(field)
    return value.strip() if isinstance(value, str) else ""


def some(task: WireTask, rows: list[Row]) -> list[Row]:
    """The rows; raises where there is none."""
    if not rows:
        raise CallFailure("bad_input", f"Cannot use {task.task}: no row of it asks anything")
    return rows
