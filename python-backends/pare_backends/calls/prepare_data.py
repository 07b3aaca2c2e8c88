"""Call `prepare_data`: draws the order of evaluation rows, and writes the windows of text that
methods calibrate and train on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.empty_model import context_length, load_config
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.evaluation.calibration import draw_windows, read_texts, write_windows
from pare_backends.evaluation.likeness import unlike
from pare_backends.evaluation.overlap import RUN, paragraph_names, without_paragraphs
from pare_backends.evaluation.own_rows import require_rows_fit
from pare_backends.evaluation.perplexity import windows
from pare_backends.evaluation.task_needs import (
    require_definition_fits,
    require_window,
)
from pare_backends.evaluation.tasks.documents import Documents, full_definition, load_documents
from pare_backends.evaluation.tasks.made_rows import write_made
from pare_backends.evaluation.tasks.records import file_sha256
from pare_backends.evaluation.tasks.selection import drawn_order
from pare_backends.evaluation.tasks.task_check import check_task
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure
from pare_backends.progress import Report

SHIPPED_TEXT = Path(__file__).parents[1] / "text" / "calibration.jsonl"


@dataclass(frozen=True)
class WindowsRequest:
    """Which windows: of the text at `path`, or of the shipped one."""

    path: str | None
    windows: int
    tokens: int


@dataclass(frozen=True)
class PrepareDataRequest:
    """Request of the call, as in `core/calls/declared/prepare_data.ts`."""

    model_dir: str | None
    tasks: list[WireTask]
    calibration_path: str | None
    calibration_windows: int
    calibration_tokens: int
    output_dir: str
    seed: int
    sample_seed: int
    sample_seeds: dict[str, int]
    training: WindowsRequest | None = None
    own_rows: list[str] = field(default_factory=list)
    """Tasks whose rows must not be longer than the model reads."""


def run(request: PrepareDataRequest, report: Report) -> dict[str, Any]:
    """Reads every task's data, then writes `calibration.safetensors` and, where it is asked for,
    `training.safetensors` into `output_dir`. A task whose data are broken is told with its reason,
    and the others go on; fails where all are."""
    tokenizer = None if request.model_dir is None else load_tokenizer(request.model_dir)
    context = _context(request.model_dir)
    documents: dict[str, Documents] = {}
    tasks: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    for task in request.tasks:
        seed = request.sample_seeds.get(task.task, request.sample_seed)
        try:
            read = load_documents(task)
            check_task(task, read)
            if task.task in request.own_rows:
                require_rows_fit(task, read, tokenizer, context)
            tasks.append(_task_rows(task, read, tokenizer, seed, context))
            tasks[-1]["rows_file"] = write_made(task, read.rows, Path(request.output_dir))
        except CallFailure as failure:
            if failure.kind != "bad_input":
                raise
            if len(request.tasks) == 1:
                raise
            said = failure.message if failure.hint is None else f"{failure.message}. {failure.hint}"
            refused.append({"task": task.task, "reason": said})
            continue
        documents[task.task] = read
    if refused and not documents:
        raise CallFailure("bad_input", "; ".join(one["reason"] for one in refused))
    asked = WindowsRequest(
        request.calibration_path, request.calibration_windows, request.calibration_tokens
    )
    calibration = _write_windows("calibration", asked, request, documents, tokenizer, report)
    training = request.training
    return {
        **{f"calibration_{name}": value for name, value in calibration.items()},
        "training": None
        if training is None
        else _write_windows("training", training, request, documents, tokenizer, report),
        "tasks": tasks,
        "refused": refused,
    }


def _context(model_dir: str | None) -> int | None:
    """Tokens that the model reads and writes; None where only a server knows."""
    if model_dir is None or not (Path(model_dir) / "config.json").exists():
        return None
    return context_length(load_config(model_dir))


def _task_rows(
    task: WireTask, documents: Documents, tokenizer: Any, seed: int, context: int | None
) -> dict[str, Any]:
    """The task's rows and their order; raises where the model has no room for the task."""
    perplexity = task.window_tokens is not None
    if perplexity:
        every = windows(task, documents, tokenizer)
        require_window(task.task, len(every[0]), context)
    else:
        require_definition_fits(task.task, full_definition(task), context)
    total = len(every) if perplexity else len(documents.rows)
    groups = None if perplexity else task.groups
    return {
        "task": task.task,
        "rows": total,
        "data_sha256": documents.sha256,
        "order": drawn_order(total, seed, task.task),
        "groups": None if groups is None else [groups.of(row) for row in documents.rows],
    }


def _write_windows(
    kind: str,
    asked: WindowsRequest,
    request: PrepareDataRequest,
    documents: dict[str, Documents],
    tokenizer: Any,
    report: Report,
) -> dict[str, Any]:
    """Writes the windows of a kind.

    returns: their file, its hash, their ids, and why the text looks like another language than what
    is evaluated (None: it does not)
    """
    folder = Path(request.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}.safetensors"
    if asked.windows == 0:  # nothing is going to be compressed
        write_windows(path, np.zeros((0, 0), dtype=np.int32), [])
        return {"path": str(path), "ids": [], "sha256": file_sha256(path), "unlike": None}
    source = Path(asked.path) if asked.path else SHIPPED_TEXT
    rows = {task: document.rows for task, document in documents.items()}
    excluded = paragraph_names(row for every in rows.values() for row in every)
    texts, removed = without_paragraphs(read_texts(source), excluded)
    if removed:
        report.alert(
            f"{kind}_overlap",
            f"{removed} paragraphs of {source.name} are evaluation text too and were left out",
        )
    if not texts:
        raise CallFailure(
            "bad_input",
            f"Cannot take {kind} windows from {source}: all of its paragraphs are evaluation text"
            f" too (of {', '.join(rows)})",
            hint=f"Give text that is not evaluated with --{kind}-data",
        )
    drawn = draw_windows(texts, tokenizer, asked.windows, asked.tokens, request.seed, rows, kind)
    if drawn.refused:
        name, (task, row) = next(iter(drawn.refused.items()))
        report.alert(
            f"{kind}_overlap",
            f"{len(drawn.refused)} windows of {source.name} share {RUN} words in a row with"
            f" evaluated samples and were left out, such as {name} with row {row} of {task}",
        )
    if kind == "calibration" and len(drawn.ids) < asked.windows:
        report.alert(
            "fewer_calibration_windows",
            f"{source.name} gives {len(drawn.ids)} windows of {asked.tokens} tokens, "
            f"{asked.windows} were asked for",
        )
    name = source.name if asked.path else "the text that pare ships"
    apart = unlike(name, texts, rows, tokenizer)
    if apart is not None:
        report.alert(f"{kind}_language", apart)
    write_windows(path, drawn.windows, drawn.ids)
    return {
        "path": str(path),
        "ids": drawn.ids,
        "sha256": file_sha256(path),
        "unlike": apart,
    }
