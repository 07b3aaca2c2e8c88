"""How unlikely a text is to a model, window by window.

The rows' texts are joined by blank lines and tokenized once, without special tokens. The tokens
are cut into windows that do not overlap; a remainder shorter than a window is left out, unless it
is all there is. Every window is read on its own: its first token is context, each later one is
predicted from those before it.

Where a cache is cut after the context, the first half of each window is context, and the other half
is scored: of every model, so that all are scored on the same tokens.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pare_backends.cache.policy import chooses_by_content
from pare_backends.checkpoint.empty_model import context_length
from pare_backends.evaluation.answers import Answers, split_apart
from pare_backends.evaluation.asked import AskedTask, TaskRows
from pare_backends.evaluation.original.distance import WindowDistance, window_distance
from pare_backends.evaluation.original.distributions import FORMAT, Original, keep
from pare_backends.evaluation.original.figures import distance_figures
from pare_backends.evaluation.outcome import SampleResult, TaskOutcome, kept_columns, mean_and_error
from pare_backends.evaluation.scoring.answer import Answer
from pare_backends.evaluation.scoring.context import Surroundings
from pare_backends.evaluation.scoring.summing import scored_outcome
from pare_backends.evaluation.task_needs import require_window
from pare_backends.evaluation.tasks.documents import Documents, full_definition
from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure
from pare_backends.progress import Report

if TYPE_CHECKING:
    import torch

    from pare_backends.evaluation.packed.shared_prompts import Beside, Kept

SEPARATOR = "\n\n"
SHORTEST_WINDOW = 2
TOKENS_PER_BATCH = 64
"""Tokens of a forward pass for each item of the batch size."""


def windows(task: WireTask, documents: Documents, tokenizer: Any) -> list[list[int]]:
    """Token ids of every window of the task's text, in order."""
    if task.window_tokens is None:
        raise CallFailure("bad_input", f"Cannot evaluate {task.task}: window_tokens is missing")
    field = (full_definition(task).get("metadata") or {}).get("text_field", "text")
    text = SEPARATOR.join(str(row.get(field, "")) for row in documents.rows)
    tokens = tokenizer.encode(text, add_special_tokens=False)
    return cut(tokens, task.window_tokens, task.task)


def cut(tokens: Sequence[int], size: int, name: str) -> list[list[int]]:
    """Windows of `size` tokens in order; the remainder only where it is all there is."""
    if len(tokens) < SHORTEST_WINDOW:
        raise CallFailure(
            "bad_input", f"Cannot measure perplexity on {name}: its text has {len(tokens)} tokens"
        )
    if len(tokens) < size:
        return [list(tokens)]
    return [list(tokens[i : i + size]) for i in range(0, len(tokens) - size + 1, size)]


@dataclass(frozen=True)
class TextReader:
    """What reads windows of a text."""

    model: Any
    tokenizer: Any
    batch_size: int
    report: Report
    answers: Answers = field(default_factory=Answers)
    original: Original | None = None
    """How far the model is from it is told beside; None: it is not."""
    loaded: Any = None
    """The original in memory; None: it is loaded where something that it says is not kept."""
    evict_after: str = ""
    """`context`: the first half of a window is read, and cut, before the other is scored."""
    beside: Sequence[Beside] = ()
    """Other policies that are asked the same of what is read."""


def run_perplexity(
    task: WireTask,
    documents: Documents,
    rows: Sequence[int],
    reader: TextReader,
    apart: Sequence[Container[int]] = (),
) -> TaskOutcome:
    """As `ask_windows`, and the task's own figure of it."""
    asked = ask_windows(TaskRows(task, documents, rows, apart), reader)
    return scored_outcome(asked, Surroundings(reader.report, reader.answers))


def ask_windows(asking: TaskRows, reader: TextReader) -> AskedTask:
    """What the model says of windows of a text."""
    task, documents, rows = asking.task, asking.documents, asking.rows
    model, original, answers = reader.model, reader.original, reader.answers
    evict_after = reader.evict_after
    before = answers.reused
    every = windows(task, documents, reader.tokenizer)
    chosen = [every[row] for row in rows]
    if not hasattr(model, "window_losses"):  # a server says itself what it cannot read
        require_window(task.task, len(chosen[0]), context_length(model.config))
    if original is not None:
        keep(original, original.missing(chosen), reader.loaded, reader.report)
    against = [] if original is None else [original.identity, FORMAT]
    context = max(1, len(chosen[0]) // 2) if evict_after else 1
    cut_after = [f"{evict_after} of {context} tokens"] if evict_after else []
    per_batch = max(1, reader.batch_size * TOKENS_PER_BATCH // len(chosen[0]))
    whole = _kept_whole(model, context - 1) if evict_after else None
    found: dict[int, tuple[float, WindowDistance | None, Kept | None, float]] = {}
    for part in split_apart(rows, asking.apart):
        for start in range(0, len(part), per_batch):
            numbers = part[start : start + per_batch]
            batch = [every[row] for row in numbers]
            said, kept, taken = _said(
                reader,
                ["windows", batch, *against, *cut_after],
                batch,
                context,
                functools.partial(read_batch, task.task, model, batch, numbers, original, context),
                whole,
            )
            for number, one in zip(numbers, said, strict=True):
                loss, *far = one if isinstance(one, list) else [one]
                distance = WindowDistance.of(far[0]) if far else None
                found[number] = (loss, distance, kept, taken / len(batch))
            reader.report.progress(task.task, len(found), len(chosen), "windows")
    hashes = [content_hash(window) for window in chosen]
    samples = [
        _sample(task.task, row, window, context, digest, *found[row])
        for row, window, digest in zip(rows, chosen, hashes, strict=True)
    ]
    far = [one for one in (found[row][1] for row in rows) if one is not None]
    return AskedTask(
        task=task,
        documents=documents,
        rows=rows,
        answers=[
            Answer(
                likelihoods=(sample.log_likelihood or 0.0,),
                tokens=sample.tokens,
                loss=found[row][0],
            )
            for row, sample in zip(rows, samples, strict=True)
        ],
        samples=samples,
        how=f"own loop, windows of {len(chosen[0])} tokens, no overlap, "
        + (f"the first {context} are context" if cut_after else "first token is context"),
        changed="",
        hashed=["perplexity", task.task_version, task.window_tokens, hashes, *cut_after],
        protocol_parts={
            "task_version": task.task_version,
            "evaluator": "perplexity",
            "window_tokens": str(task.window_tokens),
            "samples": f"{len(hashes)} windows {content_hash(hashes)}",
            **({"evict_after": cut_after[0]} if cut_after else {}),
        },
        asked=len(chosen),
        reused=answers.reused - before,
        figures=distance_figures(far, mean_and_error([one.mean for one in far])[1]) if far else (),
    )


def _kept_whole(model: Any, context: int) -> Kept | None:
    from pare_backends.evaluation.packed.shared_prompts import WholeContexts

    return WholeContexts(model).kept(context)


def _said(
    reader: TextReader,
    asked: list[Any],
    batch: Sequence[Sequence[int]],
    context: int,
    read: Callable[..., list[Any]],
    kept_whole: Kept | None,
) -> tuple[list[Any], Kept | None, float]:
    """What `read` gives of a batch, what was kept of its contexts (`kept_whole` where no policy
    goes by what it reads), and the seconds that it took."""
    if not chooses_by_content(reader.model):
        said, seconds = reader.answers.once(asked, len(batch), read)
        return said, kept_whole, seconds
    import torch

    from pare_backends.evaluation.packed.shared_prompts import SharedPrompts

    tokens = torch.tensor([list(one) for one in batch], device=reader.model.device)
    shared = SharedPrompts(reader.model, reader.answers, reader.beside)
    found = shared.once(
        asked, len(batch), tokens[:, : context - 1], lambda cache: read(cache=cache)
    )
    return found.answer, found.kept, found.seconds


def _sample(
    name: str,
    row: int,
    window: Sequence[int],
    context: int,
    digest: str,
    loss: float,
    distance: WindowDistance | None,
    kept: Kept | None,
    seconds: float,
) -> SampleResult:
    """A window's row; context: its tokens that are not scored; loss: nats per token."""
    return SampleResult(
        task=name,
        sample_id=str(row),
        sample_hash=content_hash([row, digest]),
        prompt_hash=digest,
        score=math.nan,
        answer=None,
        gold=None,
        log_likelihood=-loss * (len(window) - context),
        seconds=seconds,
        cut_tokens=0,
        tokens=len(window) - context,
        kl=None if distance is None else distance.mean,
        **kept_columns(kept),
    )


def read_batch(
    name: str,
    model: Any,
    batch: Sequence[Sequence[int]],
    numbers: Sequence[int],
    original: Original | None,
    context: int = 1,
    cache: Any = None,
) -> list[Any]:
    """The loss of each window after its context, beside its distance to the original where that is
    given; or the failure that names the window whose loss is no number. cache: of the contexts but
    for their last tokens, where a policy cut it"""
    served = getattr(model, "window_losses", None)  # a model behind a server
    if served is not None:
        losses, said = served(batch), None
    else:
        logits = window_logits(model, batch, context, cache)
        losses = losses_of(logits, batch, context)
        said = None if original is None else logits
    bad = [number for number, loss in zip(numbers, losses, strict=True) if not math.isfinite(loss)]
    if bad:
        from pare_backends.first_broken import first_broken_layer

        tokens = [int(one) for one in batch[numbers.index(bad[0])]]
        layer = None if served is not None else first_broken_layer(model, tokens)
        named = "" if layer is None else f", first by {layer}"
        raise CallFailure(
            "not_a_number",
            f"Cannot measure {name}: the model's loss on window {bad[0]} is {math.nan}{named}",
            hint="The strategy broke the model; take more bits or smaller groups",
        )
    if said is None or original is None:
        return losses
    return [
        [loss, _far(own, window, original, context).listed()]
        for loss, own, window in zip(losses, said, batch, strict=True)
    ]


def _far(
    logits: torch.Tensor, window: Sequence[int], original: Original, context: int
) -> WindowDistance:
    """How far a window's logits, as `window_logits` gives them, are from the original's."""
    said = original.of(window, logits.shape[-1]).rows(slice(context - 1, None))
    return window_distance(logits, window[context - 1 :], said)


def window_logits(
    model: Any, batch: Sequence[Sequence[int]], context: int = 1, cache: Any = None
) -> torch.Tensor:
    """What the model says of windows of one length from the last token of their context on: where
    `cache` is what a policy kept of the context before that token, of that.

    returns: (windows, tokens - context + 1, vocabulary)
    """
    import torch

    from pare_backends.cache.reading import follow

    tokens = torch.tensor([list(window) for window in batch], device=model.device)
    if cache is not None:
        return follow(model, cache, tokens[:, context - 1 :])
    with torch.no_grad():
        logits: torch.Tensor = model(tokens).logits
    return logits[:, context - 1 :]


def losses_of(
    logits: torch.Tensor, batch: Sequence[Sequence[int]], context: int = 1
) -> list[float]:
    """Mean negative log-likelihood of each window after its context, nats per token. logits: as
    `window_logits` gives them"""
    import torch

    # Window by window: all at once would copy the logits, the largest tensor there is.
    losses = [
        torch.nn.functional.cross_entropy(
            own[:-1].float(),
            torch.tensor(list(window)[context:], device=own.device),
            reduction="none",
        )
        for own, window in zip(logits, batch, strict=True)
    ]
    return [float(one.double().mean()) for one in losses]
