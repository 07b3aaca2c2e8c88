"""Several sampled generations of one prompt, in one batch of that prompt alone.

So no generation depends on what else was asked, and a seed made of the study's seed and the prompt
draws the same ones again, whichever rows are chosen and wherever a killed run goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from lm_eval.models.utils import (
    handle_stop_sequences,
    normalize_gen_kwargs,
    postprocess_generated_text,
)

if TYPE_CHECKING:
    from pare_backends.evaluation.language_model import PackedLM


def sample_until(model: PackedLM, requests: Sequence[Any], report_done: Any) -> list[str]:
    """A text for each of lm-eval's requests; equal ones are drawn together, at most a batch at
    once. `seed` in their options is the seed of all; `report_done(n)` is told how many are new."""
    texts = [""] * len(requests)
    together: dict[str, list[int]] = {}
    for number, request in enumerate(requests):
        together.setdefault(json.dumps(request.args), []).append(number)
    size = max(int(model.batch_size), 1)
    for numbers in together.values():
        context, options = requests[numbers[0]].args
        for start in range(0, len(numbers), size):
            some = numbers[start : start + size]
            for number, text in zip(
                some, _draw(model, context, options, start, len(some)), strict=True
            ):
                texts[number] = text
            report_done(len(some))
    return texts


def _draw(
    model: PackedLM, context: str, asked: dict[str, Any], start: int, count: int
) -> list[str]:
    """The generations `start` to `start + count` of a prompt."""
    options = normalize_gen_kwargs(asked, model.max_gen_toks)
    until = handle_stop_sequences(
        options.pop("until"), model.tok_decode(model.eot_token_id, skip_special_tokens=False)
    )
    new_tokens, seed = options.pop("max_gen_toks"), options.pop("seed", 0)
    tokens, mask = model.tok_batch_encode(
        [context], left_truncate_len=model.max_length - new_tokens, truncation=model.truncation
    )
    key = ["sample", tokens.tolist(), new_tokens, until, options, seed, start, count]
    found, _ = model.answers.once(
        key,
        count,
        lambda: _sample(model, tokens, mask, new_tokens, until, options, key, count),
    )
    texts = [model.tok_decode(one) for one in found]
    return [postprocess_generated_text(text, until, None) for text in texts]


def _sample(
    model: PackedLM,
    tokens: torch.Tensor,
    mask: torch.Tensor,
    new_tokens: int,
    until: list[str],
    options: dict[str, Any],
    key: list[Any],
    count: int,
) -> list[list[int]]:
    """New tokens of `count` generations after the prompt's tokens, int64 [1, tokens]."""
    seed = int.from_bytes(hashlib.sha256(json.dumps(key).encode()).digest()[:7], "big")
    length = tokens.shape[1]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        drawn = model.decode(
            tokens.repeat(count, 1).to(model.device),
            length + new_tokens,
            until,
            attention_mask=mask.repeat(count, 1).to(model.device),
            **options,
        )
    return [row[length:] for row in drawn.tolist()]
