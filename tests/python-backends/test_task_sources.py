"""Where the shipped benchmarks take their rows: dataset, part and splits of lm-eval's own task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import wire_tasks

from pare_backends.evaluation.tasks.groups import groups_of
from pare_backends.evaluation.tasks.task_document import example_split
from pare_backends.evaluation.tasks.task_index import build_index, members, tasks_folder
from pare_backends.evaluation.tasks.task_yaml import merged, read_included
from pare_backends.evaluation.tasks.wire_task import WireTask

WHY = {
    ("mmlu", "parts"): "one part of all subjects instead of 57 downloads: the same rows",
    ("mbpp", "examples"): "the split that lm-eval's own code copies the problems 2 to 4 from",
    ("wikitext2", "dataset"): "lines and not pages: perplexity per token over the joined text",
}
"""What differs from lm-eval, by task and what it is, with the reason."""

INDEX = build_index(tasks_folder())
HUB = {
    name: task
    for name, task in wire_tasks().items()
    if task.data_file is not None and not name.startswith("custom_")
}


def ours(task: WireTask) -> dict[str, Any]:
    """pare's definition with what it includes of lm-eval."""
    definition = dict(task.definition or {})
    include = definition.pop("include", None)
    base = {} if include is None else merged(read_included(INDEX.root / include, INDEX.root))
    return {**base, **definition}


def theirs(task: WireTask) -> list[dict[str, Any]]:
    """lm-eval's documents of the task or of all tasks of its group."""
    if task.task == "wikitext2":
        names = ["wikitext"]
    elif task.task == "bigbench_hard":
        names = members(INDEX, "bbh")
    else:
        names = members(INDEX, str(task.lm_eval_task))
    paths = [INDEX.tasks[name] for name in names]
    return [written_in_python(path, merged(read_included(path, INDEX.root))) for path in paths]


def written_in_python(path: Path, document: dict[str, Any]) -> dict[str, Any]:
    """A task that is a class says its dataset in Python."""
    if "class" not in document:
        return document
    code = path.with_name("task.py").read_text(encoding="utf-8")
    said = dict(re.findall(r'DATASET_(PATH|NAME) = "([^"]+)"', code))
    has = re.search(r"def has_validation_docs\(self\):\n\s+return True", code) is not None
    split = "validation" if has else "test"
    return {"dataset_path": said["PATH"], "dataset_name": said["NAME"], "test_split": split}


def parts(task: WireTask, document: dict[str, Any]) -> set[str | None]:
    """The dataset's parts that rows are taken from; a dataset of one part needs no name for it."""
    groups = groups_of(task.definition or {})
    if groups is not None and groups.hub_configs is not None:
        return set(groups.hub_configs)
    return {document.get("dataset_name")}


def shown(task: WireTask, document: dict[str, Any]) -> str | None:
    """The split of the examples, where any are shown."""
    return example_split(document) if task.few_shot > 0 else None


def differences(task: WireTask) -> dict[str, str]:
    """What is not as in lm-eval: pare's value and lm-eval's."""
    own, library = ours(task), theirs(task)

    def split(one: dict[str, Any]) -> Any:
        return one.get("test_split") or one.get("validation_split")

    pairs: dict[str, tuple[Any, Any]] = {
        "dataset": ({own["dataset_path"]}, {one["dataset_path"] for one in library}),
        "parts": (parts(task, own), {one.get("dataset_name") for one in library}),
        "split": ({split(own)}, {split(one) for one in library}),
        "examples": ({shown(task, own)}, {shown(task, one) for one in library}),
    }
    return {what: f"{mine} and {other}" for what, (mine, other) in pairs.items() if mine != other}


@pytest.mark.parametrize("name", sorted(HUB))
def test_rows_come_from_where_lm_eval_takes_them(name: str) -> None:
    found = differences(HUB[name])
    explained = {what for task, what in WHY if task == name}
    assert set(found) == explained, found


def test_every_subject_of_mmlu_is_in_the_one_part() -> None:
    library = {one["dataset_name"] for one in theirs(HUB["mmlu"])}
    assert len(library) == 57
    groups = groups_of(HUB["mmlu"].definition or {})
    assert groups is not None and groups.include is not None
    for subject in library:
        document = merged(read_included(INDEX.root / groups.include.format(subject), INDEX.root))
        assert document["dataset_name"] == subject
