"""Call `find_tasks`: benchmarks that are no plugin: a user's task file, or a task of lm-eval.

Nothing that a document names is imported or fetched here, and neither torch nor lm-eval is loaded.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pare_backends.evaluation.tasks.lm_groups import membership
from pare_backends.evaluation.tasks.task_document import (
    check_usable,
    chosen_metric,
    evaluated_split,
    example_split,
    few_shot,
    refuse,
)
from pare_backends.evaluation.tasks.task_file import OWN_METADATA, TaskFile, read_task_file
from pare_backends.evaluation.tasks.task_index import TaskIndex, build_index, members, tasks_folder
from pare_backends.evaluation.tasks.task_yaml import merged, read_included
from pare_backends.failures import CallFailure
from pare_backends.progress import Report

MOST_MEMBERS = 64
"""Tasks that one name may stand for: each is a benchmark of the study with samples of its own."""


@dataclass(frozen=True)
class AskedTask:
    """A name as the user wrote it, and what it is: a task's name, or the path of a file."""

    asked: str
    kind: Literal["name", "file"]
    target: str


@dataclass(frozen=True)
class FindTasksRequest:
    """Request of the call, as in `core/calls/declared/find_tasks.ts`."""

    tasks: list[AskedTask]
    trust_task_code: bool


def run(request: FindTasksRequest, report: Report) -> dict[str, Any]:
    """What each name stands for; a name that lm-eval does not know gets its nearest names, and one
    that cannot be had the reason."""
    index = functools.cache(lambda: build_index(tasks_folder()))
    found: list[dict[str, Any]] = []
    for number, one in enumerate(request.tasks):
        report.progress("tasks", number, len(request.tasks), "names")
        try:
            if one.kind == "file":
                tasks = [file_task(Path(one.target), request.trust_task_code)]
                told: dict[str, Any] = {"tasks": tasks, "near": []}
            else:
                told = named_tasks(index(), one.target)
            found.append({"asked": one.asked, **told, "reason": None})
        except CallFailure as failure:
            if failure.kind != "bad_input":
                raise
            said = ". ".join(part for part in (failure.message, failure.hint) if part is not None)
            found.append({"asked": one.asked, "tasks": [], "near": [], "reason": said})
    return {"found": found}


def named_tasks(index: TaskIndex, name: str) -> dict[str, Any]:
    """The tasks that a name of lm-eval stands for: itself, or those of a group or a tag."""
    if name not in index.tasks and name not in index.groups and name not in index.tags:
        return {"tasks": [], "near": index.near(name)}
    names = members(index, name)
    if len(names) > MOST_MEMBERS:
        raise CallFailure(
            "bad_input",
            f'Cannot use "{name}" of lm-eval: it stands for {len(names)} tasks, and each is a '
            f"benchmark of its own here: at most {MOST_MEMBERS}",
            hint=f"Name some of them, such as {names[0]}",
        )
    tasks = [library_task(index, one) for one in names]
    if name in index.groups:
        group = merged(read_included(index.groups[name], index.root))
        member = membership(name, group, [task["metric"] for task in tasks])
        tasks = [{**task, "member_of": [] if member is None else [member]} for task in tasks]
    return {"tasks": tasks, "near": []}


def library_task(index: TaskIndex, name: str) -> dict[str, Any]:
    """A task of lm-eval's own: its document stays where it is and is read again at run time."""
    path = index.tasks[name]
    document = merged(read_included(path, index.root))
    check_usable(name, document)
    include = path.relative_to(index.root).as_posix()
    version = (document.get("metadata") or {}).get("version", 0)
    split, examples = evaluated_split(name, document), example_split(document)
    return {
        **_common(name, document),
        "origin": "lm_eval",
        "version": f"lm-eval {version}",
        "summary": f"lm-eval's own task, {document.get('dataset_path')}, split {split}",
        "lm_eval_task": name,
        "definition": {"include": include},
        "data_file": f"{name}/{split}.jsonl.gz",
        "example_file": None if examples is None else f"{examples}.jsonl.gz",
        "data_path": None,
    }


def file_task(path: Path, trusted: bool) -> dict[str, Any]:
    """A user's task file. What it says travels as data; only code that the user trusts is read
    again from the file."""
    read = read_task_file(path, trusted)
    document = read.document
    name = str(document["task"])
    check_usable(path.name, document)
    local = str(document.get("dataset_path")) == "json"
    rows, examples = _data_files(path, document) if local else (None, None)
    split = evaluated_split(path.name, document) if not local else "test"
    return {
        **_common(path.name, document),
        "name": name,
        "origin": "file",
        "version": read.digest,
        "summary": f"the task file {path.name}",
        "lm_eval_task": None,
        "definition": _definition(read, local, examples),
        "data_file": None if local else f"{name}/{split}.jsonl.gz",
        "example_file": None,
        "data_path": None if rows is None else str(rows),
    }


def _definition(read: TaskFile, local: bool, examples: Path | None) -> dict[str, Any]:
    """The task as it goes over the wire: of its metadata what is read of it and no more."""
    told = read.document.get("metadata") or {}
    metadata = {
        "version": told.get("version", 1),
        **{key: told[key] for key in OWN_METADATA if key in told},
    }
    definition = {**read.definition, "metadata": metadata}
    if local:
        files = {} if examples is None else {"train": str(examples)}
        definition["dataset_kwargs"] = {"data_files": files}
    return definition


def _data_files(path: Path, document: Mapping[str, Any]) -> tuple[Path, Path | None]:
    """The file of rows and the one of examples, both on this disk."""
    files = (document.get("dataset_kwargs") or {}).get("data_files")
    by_split = files if isinstance(files, dict) else {"": files}
    wanted = [document.get("test_split"), document.get("validation_split")]
    if isinstance(files, dict) and not any(split in files for split in wanted if split):
        told = ", ".join(str(split) for split in wanted if split) or "none is named"
        raise refuse(
            path.name,
            f"data_files has no file for its test_split or validation_split ({told}): it has "
            f"{', '.join(map(str, files)) or 'none'}",
        )
    key = next((split for split in wanted if split in by_split), "")
    rows = _one_file(path, by_split.get(key, files))
    split = example_split(document)
    examples = None
    if few_shot(document) > 0 and split is not None:
        if split not in by_split:
            raise refuse(
                path.name,
                f"it gives {few_shot(document)} examples from its split {split}, and data_files "
                "has no file for that",
            )
        examples = _one_file(path, by_split[split])
    return rows, examples


def _one_file(path: Path, value: Any) -> Path:
    """The path of a data file, from the folder of the task file."""
    named = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(named, str):
        raise refuse(
            path.name,
            'with dataset_path: json it must name one file a split, such as "dataset_kwargs: '
            f'{{data_files: {{test: own.jsonl}}}}", not {value!r:.60}',
        )
    file = (path.parent / named).resolve()
    if not named.endswith((".jsonl", ".jsonl.gz", ".json")):
        raise refuse(path.name, f"its data file {named} must be a .jsonl, .jsonl.gz or .json file")
    return file


def _common(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    metadata = document.get("metadata") or {}
    shots = few_shot(document)
    return {
        "name": name,
        "few_shot": shots,
        "metric": chosen_metric(name, document),
        "scorers": [_scorer(name, metadata)],
        "chance": _number(name, metadata, "chance", 0, 1),
        "proxy_samples": _number(name, metadata, "proxy_samples", 1, None),
        "full_samples": _number(name, metadata, "full_samples", 1, None),
        "member_of": [],
    }


def _scorer(name: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What scores the answers: lm-eval's own metric where the document names nothing else by
    `scorer` and `scorer_params`, or as before scorers had names by `rule` and `gold`."""
    params = metadata.get("scorer_params", {})
    wanted = metadata.get("scorer", metadata.get("rule", "lm_eval_metric"))
    if not isinstance(wanted, str) or not isinstance(params, Mapping):
        raise refuse(name, "metadata.scorer must be a name and metadata.scorer_params an object")
    gold = {"gold": str(metadata["gold"])} if "rule" in metadata and "gold" in metadata else {}
    return {"scorer": wanted, "params": {**gold, **params}}


def _number(
    name: str, metadata: Mapping[str, Any], key: str, least: float, below: float | None
) -> float | None:
    value = metadata.get(key)
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or value < least or (below is not None and value >= below):
        wanted = f"a number of at least {least}" + ("" if below is None else f" and below {below}")
        raise refuse(name, f"metadata.{key} must be {wanted}, not {value!r:.40}")
    return value
