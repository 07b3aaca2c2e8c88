"""Rows that are made in the tokens of the model that is asked them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.empty_model import context_length, load_config
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.evaluation.ruler.make import ruler_rows
from pare_backends.evaluation.tasks.records import Row
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure


def made_for_model(task: WireTask, said: Mapping[str, Any]) -> list[Row]:
    """RULER's rows as a generator's metadata asks for them, of lengths that the model reads."""
    directory = task.tokenizer_dir
    if directory is None:
        raise CallFailure(
            "bad_input",
            f"Cannot make {task.task}: its length is counted in the model's tokens, and no"
            " tokenizer is known",
            hint="Give a served model's tokenizer by --tokenizer; answers that are kept are scored"
            " again where the model is a folder",
        )
    known = (Path(directory) / "config.json").exists()
    context = context_length(load_config(directory)) if known else None
    source = None if task.data_path is None else Path(task.data_path)
    return ruler_rows(task.task, said, load_tokenizer(directory), context, source)


def write_made(task: WireTask, rows: Sequence[Row], folder: Path) -> str | None:
    """Keeps rows that were made, as making them takes its time: the file's name in the folder.
    None: the task's rows are not made for a model."""
    if task.tokenizer_dir is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{task.task}.rows.jsonl"
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    (folder / name).write_text(text, encoding="utf-8")
    return name
