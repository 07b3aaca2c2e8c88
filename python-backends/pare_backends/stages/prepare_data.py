"""Stage `prepare_data`: draws the order of evaluation rows and writes calibration windows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.load import load_config, load_tokenizer
from pare_backends.evaluation.calibration import (
    calibration_windows,
    paragraph_hashes,
    without_paragraphs,
    write_windows,
)
from pare_backends.evaluation.limits import (
    context_length,
    require_definition_fits,
    require_window,
)
from pare_backends.evaluation.perplexity import windows
from pare_backends.evaluation.tasks.documents import Documents, full_definition, load_documents
from pare_backends.evaluation.tasks.groups import groups_of
from pare_backends.evaluation.tasks.records import file_sha256, read_records
from pare_backends.evaluation.tasks.selection import drawn_order
from pare_backends.evaluation.tasks.task_check import check_task
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import StageFailure
from pare_backends.progress import Report

SHIPPED_TEXT = Path(__file__).parents[1] / "text" / "calibration.jsonl"


@dataclass(frozen=True)
class PrepareDataRequest:
    """Request of the stage, as in `core/schemas/wire.ts`."""

    model_dir: str | None
    tasks: list[WireTask]
    calibration_path: str | None
    calibration_windows: int
    calibration_tokens: int
    output_dir: str
    seed: int
    sample_seed: int
    sample_seeds: dict[str, int] = field(default_factory=dict)


def run(request: PrepareDataRequest, report: Report) -> dict[str, Any]:
    """Reads every task's data, then writes `calibration.safetensors` into `output_dir`. A task
    whose data are broken is told with its reason, and the others go on; fails where all are."""
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
            tasks.append(_task_rows(task, read, tokenizer, seed, context))
        except StageFailure as failure:
            if failure.kind != "bad_input":
                raise
            if len(request.tasks) == 1:
                raise
            said = failure.message if failure.hint is None else f"{failure.message}. {failure.hint}"
            refused.append({"task": task.task, "reason": said})
            continue
        documents[task.task] = read
    if refused and not documents:
        raise StageFailure("bad_input", "; ".join(one["reason"] for one in refused))
    path, ids = _write_calibration(request, list(documents.values()), tokenizer, report)
    return {
        "calibration_path": str(path),
        "calibration_ids": ids,
        "calibration_sha256": file_sha256(path),
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
    perplexity = task.evaluator == "perplexity"
    if perplexity:
        every = windows(task, documents, tokenizer)
        require_window(task.task, len(every[0]), context)
    else:
        require_definition_fits(task.task, full_definition(task), context)
    total = len(every) if perplexity else len(documents.rows)
    groups = None if perplexity else groups_of(task.definition or {})
    return {
        "task": task.task,
        "rows": total,
        "data_sha256": documents.sha256,
        "order": drawn_order(total, seed, task.task),
        "groups": None if groups is None else [groups.of(row) for row in documents.rows],
    }


def _write_calibration(
    request: PrepareDataRequest, documents: list[Documents], tokenizer: Any, report: Report
) -> tuple[Path, list[str]]:
    folder = Path(request.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "calibration.safetensors"
    if request.calibration_windows == 0:  # nothing is going to be compressed
        write_windows(path, np.zeros((0, 0), dtype=np.int32), [])
        return path, []
    source = Path(request.calibration_path) if request.calibration_path else SHIPPED_TEXT
    texts = [str(row["text"]) for row in read_records(source, {"text": "string"})]
    excluded = paragraph_hashes(row for document in documents for row in document.rows)
    texts, removed = without_paragraphs(texts, excluded)
    if removed:
        report.alert(
            "calibration_overlap",
            f"{removed} paragraphs of {source.name} are evaluation text too and were left out",
        )
    chosen, ids = calibration_windows(
        texts, tokenizer, request.calibration_windows, request.calibration_tokens, request.seed
    )
    if len(ids) < request.calibration_windows:
        report.alert(
            "fewer_calibration_windows",
            f"{source.name} gives {len(ids)} windows of {request.calibration_tokens} tokens, "
            f"{request.calibration_windows} were asked for",
        )
    write_windows(path, chosen, ids)
    return path, ids
