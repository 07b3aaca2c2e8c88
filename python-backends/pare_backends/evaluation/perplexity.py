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

from pare_backends.checkpoint.empty_model import context_length
from pare_backends.evaluation.answers import Answers, split_apart
from pare_backends.evaluation.original.distance import WindowDistance, window_distance
from pare_backends.evaluation.original.distributions import FORMAT, Original, keep
from pare_backends.evaluation.original.figures import distance_figures
from pare_backends.evaluation.outcome import SampleResult, TaskOutcome, mean_and_error
from pare_backends.evaluation.task_needs import require_window
from pare_backends.evaluation.tasks.documents import Documents, full_definition
from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import StageFailure
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
    original: Original | None = None,
    loaded: Any = None,
) -> TaskOutcome:
    """Perplexity of the model on the windows that `rows` numbers, those of each set of `apart` in
    batches of their own; and how far it is from the original, where that is given. loaded: the
    original in memory; None: it is loaded where something that it says is not kept."""
    answers = answers or Answers()
    before = answers.reused
    every = windows(task, documents, tokenizer)
    chosen = [every[row] for row in rows]
    if not hasattr(model, "window_losses"):  # a server says itself what it cannot read
        require_window(task.task, len(chosen[0]), context_length(model.config))
    if original is not None:
        keep(original, original.missing(chosen), loaded, report)
    against = [] if original is None else [original.identity, FORMAT]
    per_batch = max(1, batch_size * TOKENS_PER_BATCH // len(chosen[0]))
    found: dict[int, tuple[float, WindowDistance | None, float]] = {}
    for part in split_apart(rows, apart):
        for start in range(0, len(part), per_batch):
            numbers = part[start : start + per_batch]
            batch = [every[row] for row in numbers]
            said, taken = answers.once(
                ["windows", batch, *against],
                len(batch),
                functools.partial(read_batch, task.task, model, batch, numbers, original),
            )
            for number, one in zip(numbers, said, strict=True):
                loss, *far = one if isinstance(one, list) else [one]
                distance = WindowDistance.of(far[0]) if far else None
                found[number] = (loss, distance, taken / len(batch))
            report.progress(task.task, len(found), len(chosen), "windows")
    scores = [found[row][0] for row in rows]
    mean, error = mean_and_error(scores)
    value = math.exp(mean)
    hashes = [content_hash(window) for window in chosen]
    samples = [
        _sample(task.task, row, window, digest, *found[row])
        for row, window, digest in zip(rows, chosen, hashes, strict=True)
    ]
    far = [one for one in (found[row][1] for row in rows) if one is not None]
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
        figures=distance_figures(far, mean_and_error([one.mean for one in far])[1]) if far else (),
    )


def _sample(
    name: str,
    row: int,
    window: Sequence[int],
    digest: str,
    loss: float,
    distance: WindowDistance | None,
    seconds: float,
) -> SampleResult:
    """A window's row; loss: nats per token."""
    return SampleResult(
        task=name,
        sample_id=str(row),
        sample_hash=content_hash([row, digest]),
        prompt_hash=digest,
        score=loss,
        answer=None,
        gold=None,
        log_likelihood=-loss * (len(window) - 1),
        seconds=seconds,
        cut_tokens=0,
        kl=None if distance is None else distance.mean,
    )


def read_batch(
    name: str,
    model: Any,
    batch: Sequence[Sequence[int]],
    numbers: Sequence[int],
    original: Original | None,
) -> list[Any]:
    """The loss of each window, beside its distance to the original where that is given; or the
    failure that names the window whose loss is no number."""
    served = getattr(model, "window_losses", None)  # a model behind a server
    if served is not None:
        losses, said = served(batch), None
    else:
        logits = window_logits(model, batch)
        losses = losses_of(logits, batch)
        said = None if original is None else logits
    bad = [number for number, loss in zip(numbers, losses, strict=True) if not math.isfinite(loss)]
    if bad:
        raise StageFailure(
            "not_a_number",
            f"Cannot measure {name}: the model's loss on window {bad[0]} is {math.nan}",
            hint="The strategy broke the model; take more bits or smaller groups",
        )
    if said is None or original is None:
        return losses
    return [
        [loss, window_distance(own, window, original.of(window, own.shape[-1])).listed()]
        for loss, own, window in zip(losses, said, batch, strict=True)
    ]


def window_logits(model: Any, batch: Sequence[Sequence[int]]) -> torch.Tensor:
    """What the model says of windows of one length. returns: (windows, tokens, vocabulary)"""
    import torch

    tokens = torch.tensor([list(window) for window in batch], device=model.device)
    with torch.no_grad():
        logits: torch.Tensor = model(tokens).logits
    return logits


def losses_of(logits: torch.Tensor, batch: Sequence[Sequence[int]]) -> list[float]:
    """Mean negative log-likelihood of each window, nats per token."""
    import torch

    # Window by window: all at once would copy the logits, the largest tensor there is.
    losses = [
        torch.nn.functional.cross_entropy(
            own[:-1].float(), torch.tensor(list(window)[1:], device=own.device), reduction="none"
        )
        for own, window in zip(logits, batch, strict=True)
    ]
    return [float(one.double().mean()) for one in losses]
