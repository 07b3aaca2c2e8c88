"""Rows of a user's own data that are longer than the model reads: refused before a model is loaded.

A published benchmark goes on as its figures are made elsewhere: what a prompt loses is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pare_backends.evaluation.asked import TaskRows
from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.lm_task import build_task
from pare_backends.evaluation.tasks.records import Row
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure

USUAL_NEW_TOKENS = 256
"""What lm-eval lets a model write where a task does not say."""

MOST = 2000
"""Rows whose tokens are counted, the longest: ten thousand long ones would take minutes."""


def require_rows_fit(
    task: WireTask, documents: Documents, tokenizer: Any, context: int | None
) -> None:
    """Raises where a row of the user's own, as it is asked, is more tokens than the model reads.
    Not where the task says itself what a long prompt loses. context: None is not known"""
    said = (task.definition or {}).get("metadata") or {}
    if context is None or task.window_tokens is not None or said.get("cut") == "middle":
        return
    at_risk = _at_risk(task, documents, context)
    if not at_risk:
        return
    long = sorted(
        (row, tokens)
        for row, tokens in _lengths(task, documents, at_risk, tokenizer)
        if tokens > context
    )
    if not long:
        return
    row, tokens = long[0]
    also = "" if len(long) == 1 else f", and so {len(long) - 1} of the others"
    raise CallFailure(
        "bad_input",
        f"Cannot evaluate {task.task} on {Path(str(task.data_path)).name}: its row {row} takes"
        f" {tokens} tokens with its answer and the model reads {context}{also}",
        hint="Shorten such rows or leave them out, take a model that reads more, or say"
        " `metadata: {cut: middle}` in a task file, so that long prompts lose their middle",
    )


def _at_risk(task: WireTask, documents: Documents, context: int) -> list[int]:
    """The rows that could be too long, as a token is a byte or more: the longest of them."""
    examples = sorted(map(_bytes, documents.examples), reverse=True)[: task.few_shot]
    beside = _bytes(task.definition or {}) + sum(examples) + _new_tokens(task.definition or {})
    sizes = [(_bytes(row) + beside, number) for number, row in enumerate(documents.rows)]
    longest = sorted((one for one in sizes if one[0] > context), reverse=True)[:MOST]
    return sorted(number for _, number in longest)


def _bytes(row: Row | dict[str, Any]) -> int:
    text = json.dumps(row, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", errors="surrogatepass"))


def _new_tokens(kwargs: dict[str, Any]) -> int:
    return int((kwargs.get("generation_kwargs") or {}).get("max_gen_toks", USUAL_NEW_TOKENS))


def _lengths(
    task: WireTask, documents: Documents, rows: Sequence[int], tokenizer: Any
) -> Iterator[tuple[int, int]]:
    """Rows with the tokens that the model must have room for: what is read, and what is written.
    Of several requests of a row the longest."""
    for part in TaskRows(task, documents, rows).parts():
        built = build_task(task, documents, part, asks_only=True)
        built.build_all_requests(rank=0, world_size=1)
        longest = dict.fromkeys(part, 0)
        for request in built.instances:
            row = part[request.doc_id]
            longest[row] = max(longest[row], _needed(request.args, tokenizer))
        yield from longest.items()


def _needed(asked: Sequence[Any], tokenizer: Any) -> int:
    """Tokens of a request: a context with what is to follow, or with how that is generated."""
    context, then = asked[0], asked[1]
    if isinstance(then, dict):
        return _count(context, tokenizer) + int(then.get("max_gen_toks", USUAL_NEW_TOKENS))
    return _count(context + then, tokenizer) - 1  # the last token is predicted, never read


def _count(text: str, tokenizer: Any) -> int:
    return len(tokenizer(text, truncation=False, add_special_tokens=False, verbose=False).input_ids)
