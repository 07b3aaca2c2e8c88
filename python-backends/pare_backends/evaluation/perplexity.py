"""Perplexity over windows of a text.

The rows' texts are joined by blank lines and tokenized once, without special tokens. The tokens
are cut into windows that do not overlap; a remainder shorter than a window is left out, unless it
is all there is. Every window is read on its own: its first token is context, each later one is
predicted from those before it. The value is exp of the mean negative log-likelihood (nats a
token) over the windows' means; its standard error is that of the mean, times the value (delta
method).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from pare_backends.evaluation.answers import Answers, split_apart
from pare_backends.evaluation.outcome import SampleResult, TaskOutcome, mean_and_error
from pare_backends.evaluation.task_needs import require_window
from pare_backends.evaluation.tasks.documents import Documents, full_definition
from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import StageFailure
from pare_backends.models.context_length import context_length
from pare_backends.progress import Report

if TYPE_CHECKING:
    import torch

SEPARATOR = "\n\n"
SHORTEST_WINDOW = 2
TOKENS_PER_BATCH = 64
"""Tokens of a forward pass for each item of the batch size."""


def windows(task: WireTask, documents: Documents, tokenizer: Any) -> list[list[int]]:
    """Token ids of every window of the task's text, in order."""
    if task.window_tokens is None:
        raise StageFailure("bad_input", f"Cannot evaluate {task.task}: window_tokens is missing")
    field = (full_definition(task).get("metadata") or {}).get("text_field", "text")
    text = SEPARATOR.join(str(row.get(field, "")) for row in documents.rows)
    tokens = tokenizer.encode(text, add_special_tokens=False)
    return cut(tokens, task.window_tokens, task.task)


def cut(tokens: Sequence[int], size: int, name: str) -> list[list[int]]:
    """Windows of `size` tokens in order; the remainder only where it is all there is."""
    if len(tokens) < SHORTEST_WINDOW:
        raise StageFailure(
            "bad_input", f"Cannot measure perplexity on {name}: its text has {len(tokens)} tokens"
        )
    if len(tokens) < size:
        return [list(tokens)]
    return [list(tokens[i : i + size]) for i in range(0, len(tokens) - size + 1, size)]


def run_perplexity(
    task: WireTask,
    documents: Documents,
    rows: Sequence[int],
    model: Any,
    tokenizer: Any,
    batch_size: int,
    report: Report,
    answers: Answers | None = None,
    apart: Sequence[Container[int]] = (),
) -> TaskOutcome:
    """Perplexity of the model on the windows that `rows` numbers, those of each set of `apart` in
    batches of their own."""
    answers = answers or Answers()
    before = answers.reused
    every = windows(task, documents, tokenizer)
    chosen = [every[row] for row in rows]
    if not hasattr(model, "window_losses"):  # a server says itself what it cannot read
        require_window(task.task, len(chosen[0]), context_length(model.config))
    per_batch = max(1, batch_size * TOKENS_PER_BATCH // len(chosen[0]))
    found: dict[int, tuple[float, float]] = {}
    for part in split_apart(rows, apart):
        for start in range(0, len(part), per_batch):
            numbers = part[start : start + per_batch]
            batch = [every[row] for row in numbers]
            losses, taken = answers.once(
                ["windows", batch],
                len(batch),
                functools.partial(finite_losses, task.task, model, batch, numbers),
            )
            found.update((n, (x, taken / len(batch))) for n, x in zip(numbers, losses, strict=True))
            report.progress(task.task, len(found), len(chosen), "windows")
    scores = [found[row][0] for row in rows]
    seconds = [found[row][1] for row in rows]
    mean, error = mean_and_error(scores)
    value = math.exp(mean)
    hashes = [content_hash(window) for window in chosen]
    samples = [
        SampleResult(
            task=task.task,
            sample_id=str(row),
            sample_hash=content_hash([row, digest]),
            prompt_hash=digest,
            score=score,
            answer=None,
            gold=None,
            log_likelihood=-score * (len(window) - 1),
            seconds=taken,
            cut_tokens=0,
        )
        for row, window, digest, score, taken in zip(
            rows, chosen, hashes, scores, seconds, strict=True
        )
    ]
    return TaskOutcome(
        task=task,
        value=value,
        standard_error=None if error is None else value * error,
        samples=samples,
        protocol=content_hash(["perplexity", task.task_version, task.window_tokens, hashes]),
        protocol_parts={
            "task_version": task.task_version,
            "evaluator": "perplexity",
            "window_tokens": str(task.window_tokens),
            "samples": f"{len(hashes)} windows {content_hash(hashes)}",
        },
        how=f"own loop, windows of {len(chosen[0])} tokens, no overlap, first token is context",
        asked=len(chosen),
        reused=answers.reused - before,
    )


def finite_losses(
    name: str, model: Any, batch: Sequence[Sequence[int]], numbers: Sequence[int]
) -> list[float]:
    """`window_losses`, or the failure that names the window whose loss is no number."""
    served = getattr(model, "window_losses", None)  # a model behind a server
    losses = window_losses(model, batch) if served is None else served(batch)
    bad = [number for number, loss in zip(numbers, losses, strict=True) if not math.isfinite(loss)]
    if bad:
        raise StageFailure(
            "not_a_number",
            f"Cannot measure {name}: the model's loss on window {bad[0]} is {math.nan}",
            hint="The strategy broke the model; take more bits or smaller groups",
        )
    return losses


def window_losses(model: Any, batch: Sequence[Sequence[int]]) -> list[float]:
    """Mean negative log-likelihood of each window, nats a token; letters: B windows, T tokens."""
    import torch

    tokens = torch.tensor([list(window) for window in batch], device=model.device)  # [B, T]
    with torch.no_grad():
        logits: torch.Tensor = model(tokens).logits  # [B, T, vocabulary]
    # Window by window: all at once would copy the logits, the largest tensor there is.
    losses = [
        torch.nn.functional.cross_entropy(own[:-1].float(), read[1:], reduction="none")
        for own, read in zip(logits, tokens, strict=True)
    ]
    return [float(one.double().mean()) for one in losses]
