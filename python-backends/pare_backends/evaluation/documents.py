"""A task's documents: from a local file, or from the hub where no file is given."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.evaluation.groups import groups_of
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
        test_split = definition.get("test_split") or definition.get("validation_split")
        rows = _hub_rows(task, definition, test_split)
        digest = hashlib.sha256("\n".join(row_hashes(rows)).encode()).hexdigest()
    else:
        path = Path(task.data_path)
        rows = read_records(path, (definition.get("metadata") or {}).get("fields"))
        digest = file_sha256(path)
    rows = _between(rows, (definition.get("metadata") or {}).get("rows"))
    examples = _example_rows(task, definition, rows[0]) if task.few_shot > 0 else []
    return Documents(rows, row_hashes(rows), examples, digest)


def full_definition(task: WireTask, group: str | None = None) -> dict[str, Any]:
    """The task's lm-eval document with what it includes, which is looked for in lm-eval's own
    task folder, such as `lambada/lambada_openai.yaml`; where the task has groups with documents of
    their own, with the one of `group`."""
    definition = dict(task.definition or {})
    groups = groups_of(definition)
    include = definition.pop("include", None)
    if group is not None and groups is not None and groups.include is not None:
        include = groups.include.format(group)
    if include is not None:
        definition = {**_included(task, include), **definition}
    elif task.definition is None:
        definition = _named_definition(task)
    for key in ("tag", "group", "task_list"):
        definition.pop(key, None)
    return definition


def _included(task: WireTask, include: str) -> dict[str, Any]:
    import lm_eval.tasks
    from lm_eval.tasks._yaml_loader import load_yaml

    path = Path(lm_eval.tasks.__file__).parent / include
    if not path.is_file():
        raise StageFailure(
            "bad_input", f"Cannot evaluate {task.task}: lm-eval has no document {include}"
        )
    return dict(load_yaml(path))


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


def _example_rows(task: WireTask, definition: dict[str, Any], first: Row) -> list[Row]:
    """The rows that examples are taken from; none where the document itself holds them."""
    groups = groups_of(definition)
    own = definition if groups is None else full_definition(task, groups.of(first))
    if (own.get("fewshot_config") or {}).get("samples"):
        return []
    if task.data_path is None:
        split = definition.get("fewshot_split") or definition.get("training_split")
        examples = _hub_rows(task, definition, split)
    else:
        files = (definition.get("dataset_kwargs") or {}).get("data_files") or {}
        if "train" not in files:
            raise StageFailure(
                "bad_input",
                f"Cannot give {task.few_shot} examples to {task.task}: "
                "it names no file of examples",
            )
        examples = read_records(Path(task.data_path).parent / files["train"])
    examples = _between(examples, (definition.get("metadata") or {}).get("example_rows"))
    if len(examples) < task.few_shot:
        raise StageFailure(
            "bad_input",
            f"Cannot give {task.few_shot} examples to {task.task}: there are {len(examples)}",
        )
    return examples


def _between(rows: list[Row], bounds: dict[str, Any] | None) -> list[Row]:
    """The rows whose number in `field` lies within `from` and `to`: parts of a file that holds all
    splits of a benchmark."""
    if bounds is None:
        return rows
    field, first, last = bounds["field"], bounds["from"], bounds["to"]
    kept = [row for row in rows if first <= row[field] <= last]
    if not kept:
        raise StageFailure(
            "bad_input", f"Cannot use the data: no row has a {field} of {first} to {last}"
        )
    return kept


def _hub_rows(task: WireTask, definition: dict[str, Any], split: str | None) -> list[Row]:
    """Rows of a split; of a task whose groups are parts of their own, of all parts."""
    name = definition.get("dataset_path")
    if name is None or split is None:
        raise StageFailure("bad_input", f"Cannot evaluate {task.task}: no data file was given")
    groups = groups_of(definition)
    if groups is None or groups.hub_configs is None:
        rows = _hub_part(task, name, definition.get("dataset_name"), split)
    else:
        rows = [
            {groups.field: config, **row}
            for config in groups.hub_configs
            for row in _hub_part(task, name, config, split)
        ]
    if not rows:
        raise StageFailure("bad_input", f"Cannot use {name}: its split {split} holds no rows")
    return rows


def _hub_part(task: WireTask, name: str, config: str | None, split: str) -> list[Row]:
    import datasets

    try:
        return list(datasets.load_dataset(name, config, split=split).to_list())
    except Exception as error:
        offline = " (HF_HUB_OFFLINE is set)" if os.environ.get("HF_HUB_OFFLINE") else ""
        place = "" if task.data_file is None else f" that holds it as {task.data_file}"
        raise StageFailure(
            "bad_input",
            f"Cannot get the data of {task.task} ({name}) from the hub or its cache{offline}: "
            f"{one_line(error, 160)}",
            hint=f"Name a folder{place} by --data-dir",
        ) from error
