"""A task's documents: from a local file, or from the hub where no file is given."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.evaluation.records import Row, file_sha256, read_records, row_hashes
from pare_backends.evaluation.wire import WireTask
from pare_backends.failures import StageFailure, one_line


@dataclass(frozen=True)
class Documents:
    """All rows of a task with their hashes; the rows that few-shot examples are taken from."""

    rows: list[Row]
    hashes: list[str]
    examples: list[Row]
    sha256: str


def load_documents(task: WireTask) -> Documents:
    """Reads the task's rows, checks their fields, hashes them. Raises `StageFailure`."""
    definition = full_definition(task)
    if task.data_path is None:
        rows = _hub_rows(task, definition, definition.get("test_split"))
        split = definition.get("fewshot_split") or definition.get("training_split")
        examples = _hub_rows(task, definition, split) if _takes_examples(task, definition) else []
        digest = hashlib.sha256("\n".join(row_hashes(rows)).encode()).hexdigest()
    else:
        path = Path(task.data_path)
        rows = read_records(path, (definition.get("metadata") or {}).get("fields"))
        examples = _example_rows(task, definition, path)
        digest = file_sha256(path)
    if len(examples) < task.few_shot and _takes_examples(task, definition):
        raise StageFailure(
            "bad_input",
            f"Cannot give {task.few_shot} examples to {task.task}: there are {len(examples)}",
        )
    return Documents(rows, row_hashes(rows), examples, digest)


def full_definition(task: WireTask) -> dict[str, Any]:
    """The task's lm-eval document with what it includes, which is looked for in lm-eval's own
    task folder, such as `lambada/lambada_openai.yaml`."""
    definition = dict(task.definition or {})
    include = definition.pop("include", None)
    if include is not None:
        import lm_eval.tasks
        from lm_eval.tasks._yaml_loader import load_yaml

        folder = Path(lm_eval.tasks.__file__).parent
        definition = {**load_yaml(folder / include), **definition}
    elif task.definition is None:
        definition = _named_definition(task)
    for key in ("tag", "group", "task_list"):
        definition.pop(key, None)
    return definition


def _named_definition(task: WireTask) -> dict[str, Any]:
    """lm-eval's document of a name. Costs seconds: lm-eval reads all its documents for it."""
    from lm_eval.tasks import TaskManager
    from lm_eval.tasks._yaml_loader import load_yaml

    entry = TaskManager().task_index.get(task.lm_eval_task or task.task)
    if entry is None or entry.yaml_path is None:
        raise StageFailure(
            "bad_input", f'Cannot evaluate {task.task}: lm-eval knows no task "{task.lm_eval_task}"'
        )
    return dict(load_yaml(entry.yaml_path))


def _takes_examples(task: WireTask, definition: dict[str, Any]) -> bool:
    """Whether examples come from a split and not from the document itself."""
    return task.few_shot > 0 and not (definition.get("fewshot_config") or {}).get("samples")


def _example_rows(task: WireTask, definition: dict[str, Any], path: Path) -> list[Row]:
    if not _takes_examples(task, definition):
        return []
    files = (definition.get("dataset_kwargs") or {}).get("data_files") or {}
    if "train" not in files:
        raise StageFailure(
            "bad_input",
            f"Cannot give {task.few_shot} examples to {task.task}: it names no file of examples",
        )
    return read_records(path.parent / files["train"])


def _hub_rows(task: WireTask, definition: dict[str, Any], split: str | None) -> list[Row]:
    import datasets

    name, config = definition.get("dataset_path"), definition.get("dataset_name")
    if name is None or split is None:
        raise StageFailure("bad_input", f"Cannot evaluate {task.task}: no data file was given")
    try:
        rows = datasets.load_dataset(name, config, split=split).to_list()
    except Exception as error:
        offline = " (HF_HUB_OFFLINE is set)" if os.environ.get("HF_HUB_OFFLINE") else ""
        raise StageFailure(
            "bad_input",
            f"Cannot get the data of {task.task} ({name}) from the hub or its cache{offline}: "
            f"{one_line(error, 160)}",
            hint="Name a folder with benchmark files by --data-dir",
        ) from error
    if not rows:
        raise StageFailure("bad_input", f"Cannot use {name}: its split {split} holds no rows")
    return list(rows)
