"""A user's own task file: lm-eval's YAML over rows on this disk.

The file is a stranger's: it is read as data. Code that it names is refused unless the user trusts
it, and its templates may not reach into Python (`pare_backends/evaluation/tasks/templates.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.evaluation.tasks.records import content_hash, file_sha256
from pare_backends.evaluation.tasks.task_document import REFUSED_KEYS, refuse
from pare_backends.evaluation.tasks.task_index import tasks_folder
from pare_backends.evaluation.tasks.task_yaml import (
    FunctionName,
    function_names,
    includes,
    merged,
    read_included,
)
from pare_backends.evaluation.tasks.templates import check_template
from pare_backends.failures import one_line
from pare_backends.knobs import unknown_name

TEXT = (str,)
SPLIT = (str, type(None))
TEMPLATE = (str, int)
KEYS: dict[str, tuple[type, ...]] = {
    "task": TEXT,
    "task_alias": TEXT,
    "tag": (str, list),
    "include": (str, list),
    "dataset_path": TEXT,
    "dataset_name": SPLIT,
    "dataset_kwargs": (dict,),
    "training_split": SPLIT,
    "validation_split": SPLIT,
    "test_split": SPLIT,
    "fewshot_split": SPLIT,
    "process_docs": TEXT,
    "doc_to_text": TEMPLATE,
    "doc_to_target": TEMPLATE,
    "doc_to_choice": (str, list, dict),
    "process_results": TEXT,
    "unsafe_code": (bool,),
    "description": TEXT,
    "target_delimiter": TEXT,
    "fewshot_delimiter": TEXT,
    "fewshot_config": (dict,),
    "num_fewshot": (int,),
    "metric_list": (list,),
    "output_type": TEXT,
    "generation_kwargs": (dict,),
    "repeats": (int,),
    "filter_list": (list,),
    "should_decontaminate": (bool,),
    "doc_to_decontamination_query": TEXT,
    "gen_prefix": TEXT,
    "metadata": (dict,),
}
"""lm-eval's keys that a task file may have, with what may stand at them."""

METRICS = ("acc", "acc_norm", "acc_bytes", "exact_match", "f1")
"""What lm-eval knows itself: any other name would make it fetch a metric's code."""

OWN_METADATA = ("fields", "cut")
"""Metadata of a stranger that goes with the document."""

TEMPLATES = ("doc_to_text", "doc_to_target", "doc_to_choice", "description", "gen_prefix")


@dataclass(frozen=True)
class TaskFile:
    """A task file as it was read: all that it says, and how it can be said again."""

    document: dict[str, Any]
    """With all that it includes."""
    digest: str
    """Of the document and of every file of the user's that it is made of."""
    definition: dict[str, Any]
    """The document as data, what it takes from lm-eval by the name of lm-eval's document; a file
    whose code the user trusts by its own path."""


def read_task_file(path: Path, trusted: bool) -> TaskFile:
    """Reads and checks a task file. Raises `CallFailure` in one sentence."""
    parts = read_included(path, tasks_folder())
    library = tasks_folder().resolve()
    own = [(part, document) for part, document in parts if not part.is_relative_to(library)]
    for part, document in own:
        _check_shape(part, document)
    code = sorted({str(name) for _, document in own for name in function_names(document)})
    if code and not trusted:
        raise refuse(
            path.name,
            f"it asks for code of its own (!function {', '.join(code)}), which may do anything",
            "Read that code, then add --trust-task-code; or use templates and lm-eval's metrics",
        )
    if not trusted:
        for part, document in own:
            _check_templates(part, document)
    whole = merged(parts)
    if "task" not in whole:
        raise refuse(path.name, 'it has no name: give it one by the key "task"')
    choice = ["doc_to_choice"] if whole.get("output_type") == "multiple_choice" else []
    lacking = [key for key in ("doc_to_text", "doc_to_target", *choice) if key not in whole]
    if lacking:
        raise refuse(path.name, f"it does not say {' and '.join(lacking)}")
    _check_cut(path, whole)
    taken = _of_lm_eval(path, own, bool(code))
    if code:
        definition: dict[str, Any] = {"include": str(path.resolve())}
    else:
        definition = {**({} if taken is None else {"include": taken}), **merged(own)}
    files = [part for part, _ in own] + _code_files(path.parent, code)
    try:
        digest = content_hash([whole, [file_sha256(file) for file in files]])
    except TypeError as error:  # of keys that are not all texts, of a date
        raise refuse(
            path.name,
            f"it holds what no JSON can: {one_line(error, 120)}",
            "Put keys and dates in quotation marks",
        ) from error
    return TaskFile(whole, digest, definition)


def _check_cut(path: Path, whole: Mapping[str, Any]) -> None:
    """What a prompt loses that is too long is taken out of what a template wrote, and answers are
    written after it."""
    cut = (whole.get("metadata") or {}).get("cut")
    if cut is None:
        return
    if cut != "middle":
        raise refuse(path.name, f'its metadata.cut must be "middle", not {cut!r:.60}')
    if whole.get("output_type") != "generate_until" or "{" not in str(whole["doc_to_text"]):
        wants = "output_type generate_until and a template as doc_to_text"
        raise refuse(path.name, f"its metadata.cut is for tasks with {wants}")


def _of_lm_eval(
    path: Path, own: Sequence[tuple[Path, Mapping[str, Any]]], has_code: bool
) -> str | None:
    """The document of lm-eval that a task file is built on; None: on none."""
    named = [
        one
        for part, document in own
        for one in includes(document)
        if not (part.parent / one).is_file()
    ]
    if len(named) > 1 or (named and has_code):
        why = "code of its own" if has_code else f"also {named[1]}"
        raise refuse(path.name, f"it includes lm-eval's {named[0]} and has {why}: take one of both")
    return named[0] if named else None


def _check_shape(path: Path, document: Mapping[str, Any]) -> None:
    """Keys and the types of their values, of a file of the user's."""
    for key, value in document.items():
        if key in REFUSED_KEYS:
            continue  # refused with its reason by `check_usable`
        if key not in KEYS:
            raise refuse(path.name, unknown_name("key", str(key), list(KEYS)))
        if not isinstance(value, KEYS[key]) or isinstance(value, bool) != (bool in KEYS[key]):
            wanted = " or ".join(one.__name__.replace("NoneType", "null") for one in KEYS[key])
            raise refuse(path.name, f'its "{key}" must be {wanted}, not {value!r:.60}')
    for place, metric in enumerate(document.get("metric_list") or []):
        if not isinstance(metric, dict) or "metric" not in metric:
            raise refuse(path.name, f'metric_list[{place}] must be an object with "metric"')
        name = metric["metric"]
        own = document.get("process_results") is not None or isinstance(name, FunctionName)
        if not own and name not in METRICS:
            raise refuse(path.name, unknown_name("metric", str(name), list(METRICS)))
    for place, one in enumerate(document.get("filter_list") or []):
        if not isinstance(one, dict) or not isinstance(one.get("filter"), list):
            raise refuse(path.name, f'filter_list[{place}] must be an object with "name", "filter"')


def _code_files(folder: Path, functions: list[str]) -> list[Path]:
    """The files beside the document that hold its functions."""
    named = {folder / f"{name.rpartition('.')[0].replace('.', '/')}.py" for name in functions}
    return sorted(path for path in named if path.is_file())


def _check_templates(path: Path, document: Mapping[str, Any]) -> None:
    fewshot = document.get("fewshot_config") or {}
    for where, holder in (("", document), ("fewshot_config.", fewshot)):
        for key in TEMPLATES:
            value = holder.get(key)
            for text in [value] if isinstance(value, str) else []:
                reason = check_template(text)
                if reason is not None:
                    raise refuse(path.name, f'its "{where}{key}" {reason}')
