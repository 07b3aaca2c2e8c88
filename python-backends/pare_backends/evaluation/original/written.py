"""What the original wrote for a benchmark that generates: kept once, with its own log-likelihood,
so that a trial is held against it by one forward pass a sample instead of a generation.

A file a set of prompts, named by the hash of the model and of all that the prompts ask, in the
folder of what the original says. It is written whole or not at all.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pare_backends.evaluation.original.distributions import Original

if TYPE_CHECKING:
    from pare_backends.evaluation.packed.language_model import PackedLM

FORMAT = 1


@dataclass(frozen=True)
class Prompt:
    """One request of lm-eval to generate."""

    context: str
    options: dict[str, Any]
    """lm-eval's generation_kwargs."""


@dataclass(frozen=True)
class Written:
    """The original's answer to a prompt, with the log-likelihood that it gives it itself."""

    answer: str
    log_likelihood: float
    """Nats, of all its tokens."""
    tokens: int


def written(
    original: Original,
    prompts: Sequence[Prompt],
    model: PackedLM | None,
    load: Callable[[], PackedLM],
    generate: Callable[[PackedLM], Sequence[str]],
) -> list[Written]:
    """What the original wrote for the prompts, as it was kept or as it writes it now.

    model: the original, where it is in memory; load: reads it else; generate: its answers, in the
    order of the prompts
    """
    path = _path(original, prompts)
    known = _read(path, len(prompts))
    if known is not None:
        return known
    found = model if model is not None else load()
    answers = generate(found)
    scores = answer_scores(found, prompts, answers)
    if model is None:
        del found
        gc.collect()
    rows = [
        Written(answer, score, tokens)
        for answer, (score, tokens) in zip(answers, scores, strict=True)
    ]
    _write(path, rows)
    return rows


def answer_scores(
    model: PackedLM, prompts: Sequence[Prompt], answers: Sequence[str]
) -> list[tuple[float, int]]:
    """Log-likelihood in nats of each answer after its prompt, and its tokens, by one forward pass.

    The prompt is cut from the left as for a generation. An empty answer is its end: the token that
    ends a text.
    """
    requests = [
        _request(model, prompt, answer) for prompt, answer in zip(prompts, answers, strict=True)
    ]
    found = model._loglikelihood_tokens(requests, disable_tqdm=True)
    return [
        (float(likelihood), len(continuation))
        for (likelihood, _), (_, _, continuation) in zip(found, requests, strict=True)
    ]


def _request(
    model: PackedLM, prompt: Prompt, answer: str
) -> tuple[tuple[str, str], list[int], list[int]]:
    after: list[int]
    if answer == "" or prompt.context == "":
        before = model.tok_encode(prompt.context) if prompt.context else []
        after = model.tok_encode(answer, add_special_tokens=False) if answer else []
    else:
        before, after = model._encode_pair(prompt.context, answer)
    longest = int(prompt.options.get("max_gen_toks") or model.max_gen_toks or 0)
    limit = model.max_length - longest
    read = list(before)[-limit:] or [model.prefix_token_id]
    return (prompt.context, answer), read, list(after) or [model.eot_token_id]


def _path(original: Original, prompts: Sequence[Prompt]) -> Path:
    asked = [[one.context, one.options] for one in prompts]
    text = json.dumps([original.identity, asked], sort_keys=True, default=str)
    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    return original.cache / f"written-v{FORMAT}" / f"{name}.json"


def _read(path: Path, count: int) -> list[Written] | None:
    """None: there is no whole file."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        found = [Written(str(a), float(score), int(tokens)) for a, score, tokens in rows]
    except (OSError, ValueError, TypeError):
        return None
    return found if len(found) == count else None


def _write(path: Path, rows: Sequence[Written]) -> None:
    text = json.dumps([[row.answer, row.log_likelihood, row.tokens] for row in rows])
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
