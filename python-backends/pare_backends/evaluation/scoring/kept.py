"""Answers that a store keeps, as a scorer is shown them: from the samples file of an evaluation."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pare_backends.evaluation.asked import AskedTask
from pare_backends.evaluation.outcome import SampleResult
from pare_backends.evaluation.scoring.answer import Answer
from pare_backends.evaluation.scoring.programs import has_programs, unlisted
from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure

FIELDS = {field.name for field in dataclasses.fields(SampleResult)}
KEEP_THEM = "Evaluate the model again with --answer-chars {chars}: its answers are then kept whole"
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def kept_answers(task: WireTask, path: Path, documents: Documents | None) -> AskedTask:
    """The task's answers of a samples file. documents: None for a text, whose windows are no rows.
    Raises `CallFailure` where an answer is not there, is cut, or is to another row than that of
    today's data."""
    rows = [row for row in _read(path) if row["task"] == task.task]
    if not rows:
        raise CallFailure("bad_input", f"Cannot score {task.task}: {path.name} has no sample of it")
    answers = [_answer(task, row) for row in rows]
    _require_whole(task, rows, answers)
    numbers = [int(row["sample_id"]) for row in rows]
    if documents is not None:
        _require_same(task, rows, documents)
    return AskedTask(
        task=task,
        documents=documents or Documents([], [], [], ""),
        rows=numbers,
        answers=[answer for answer in answers if answer is not None],
        samples=[_sample(row) for row in rows],
        how="",
        changed="",
        hashed=[],
        protocol_parts={},
        asked=0,
        reused=len(rows),
    )


def _read(path: Path) -> list[dict[str, Any]]:
    """Rows of Parquet, or lines of JSON as older versions wrote them."""
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    from pyarrow import parquet

    return list(parquet.read_table(path).to_pylist())


def _number(value: Any) -> float | None:
    """A number, of lines of JSON also those that JSON has no word for."""
    return SPECIAL[value] if isinstance(value, str) else value


def _sample(row: Mapping[str, Any]) -> SampleResult:
    known = {name: row[name] for name in FIELDS & set(row)}
    numbers = {name: _number(row.get(name)) for name in ("score", "log_likelihood", "seconds")}
    return SampleResult(**{"gold": None, **known, **numbers})


def _answer(task: WireTask, row: Mapping[str, Any]) -> Answer | None:
    """None: it was not kept whole."""
    greedy, whole = row.get("greedy"), _number(row.get("log_likelihood"))
    choices = row.get("choice_log_likelihoods")
    if task.window_tokens is not None:
        return _window(row, whole)
    if choices is not None:
        found = tuple(
            float(SPECIAL[one]) if isinstance(one, str) else float(one) for one in choices
        )
        return Answer(likelihoods=found, greedy=None if greedy is None else tuple(greedy))
    if whole is not None:
        given = _would_write(row) if greedy is None else bool(greedy[0])
        return Answer(likelihoods=(whole,), greedy=None if given is None else (given,))
    text, length = row.get("answer"), row.get("answer_length")
    if text is None or length is None:
        return None
    if not has_programs(task):
        return Answer(texts=(text,)) if len(text) == length else None
    try:
        return Answer(texts=tuple(unlisted(text))) if len(text) == length else None
    except (ValueError, KeyError, TypeError):
        return None  # a list whose end is cut


def _would_write(row: Mapping[str, Any]) -> bool | None:
    """Whether greedy decoding gave the one text: earlier versions kept that as an answer that is
    there, and its length where the answer itself was not kept. None: an old file that has
    neither."""
    if row.get("answer") is not None or row.get("answer_length") is not None:
        return True
    return False if "answer_length" in row else None


def _window(row: Mapping[str, Any], whole: float | None) -> Answer | None:
    if whole is None:
        return None
    loss = _number(row["score"])
    tokens = row.get("tokens")
    if tokens is None:  # an earlier version kept the loss as the score, and no count
        if not loss or not math.isfinite(whole):
            return None
        tokens = round(-whole / loss)
    return Answer(likelihoods=(whole,), tokens=tokens, loss=-whole / tokens)


def _require_whole(
    task: WireTask, rows: Sequence[Mapping[str, Any]], answers: Sequence[Answer | None]
) -> None:
    lost = [row for row, answer in zip(rows, answers, strict=True) if answer is None]
    if not lost:
        return
    lengths = [int(row["answer_length"]) for row in rows if row.get("answer_length") is not None]
    longest = max(lengths, default=4000)
    cut = sum(
        row.get("answer") is not None and row.get("answer_length") is not None for row in lost
    )
    why = (
        f"{cut} of {len(rows)} answers are cut"
        if cut
        else (f"{len(lost)} of {len(rows)} answers were not kept as they were written")
    )
    raise CallFailure(
        "bad_input",
        f"Cannot score {task.task} again: {why} (sample {lost[0]['sample_id']}"
        + (f"; the longest has {longest} characters)" if lengths else ")"),
        hint=KEEP_THEM.format(chars=longest),
    )


def _require_same(task: WireTask, rows: Sequence[Mapping[str, Any]], documents: Documents) -> None:
    for row in rows:
        number = int(row["sample_id"])
        known = documents.hashes[number] if 0 <= number < len(documents.hashes) else "no row"
        if known != row["sample_hash"]:
            raise CallFailure(
                "bad_input",
                f"Cannot score {task.task} again: row {number} of its data is another one than was"
                f" asked (its hash is {known}, it was {row['sample_hash']})",
                hint="Name the data that the study was evaluated on by --data-dir",
            )
