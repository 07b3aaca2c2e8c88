"""What a written checkpoint is held to: weights near its source's, and a short text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pare_backends.checkpoint.chat_template import in_template
from pare_backends.checkpoint.setting import setting_of
from pare_backends.failures import CallFailure

PROMPT = "The capital of France is"
TINY_PROMPT = "where does the red fox live ? the red fox lives in the"
NEW_TOKENS = 12
LONGER = 128
"""Tokens of the prompt, over and over, where a setting cannot read it as it is."""
NOT_FINITE = "its logits are not finite"
CHUNK_VALUES = 1 << 16
"""Products summed in float32 at a time: 28 million, of an embedding, are off in the fifth digit."""


def cosine(weights: np.ndarray, original: np.ndarray) -> float:
    """Cosine of two arrays as vectors; 1 where both are zero."""
    a, b = weights.reshape(-1), original.reshape(-1)
    product = square_a = square_b = 0.0
    for start in range(0, a.size, CHUNK_VALUES):
        x, y = a[start : start + CHUNK_VALUES], b[start : start + CHUNK_VALUES]
        product += float(x @ y)
        square_a += float(x @ x)
        square_b += float(y @ y)
    norms = math.sqrt(square_a) * math.sqrt(square_b)
    if norms == 0.0:
        return 1.0 if not a.any() and not b.any() else 0.0
    return min(1.0, product / norms)


def generate(model: Any, tokenizer: Any) -> tuple[str, str | None]:
    """(a short greedy continuation, None); no text and why where a logit is not a number."""
    import torch

    ids = prompt_ids(tokenizer)
    # A setting may say nothing of the tokens before the last one.
    asked = {} if setting_of(model) is None else {"logits_to_keep": 1}
    with torch.inference_mode():
        try:
            out = model(ids, use_cache=True, **asked)
        except CallFailure:
            if setting_of(model) is None:
                raise
            # What lets go of a prompt may look at a window of it that is longer than this one.
            ids = ids.repeat(1, -(-LONGER // ids.shape[1]))[:, :LONGER]
            out = model(ids, use_cache=True, **asked)
        if not torch.isfinite(out.logits).all():
            return "", NOT_FINITE
        # Twelve tokens by hand: `generate` warns of sampling settings that greedy search ignores.
        best = out.logits[:, -1].argmax(dim=-1, keepdim=True)
        chosen = [best]
        while len(chosen) < NEW_TOKENS:
            cache = getattr(out, "past_key_values", None)
            if cache is None:  # the model keeps none: it reads all of it again
                out = model(torch.cat([ids, *chosen], dim=1))
            else:
                out = model(best, past_key_values=cache, use_cache=True)
            best = out.logits[:, -1].argmax(dim=-1, keepdim=True)
            chosen.append(best)
    return str(tokenizer.decode(torch.cat(chosen, dim=1)[0])), None


def prompt_ids(tokenizer: Any) -> Any:
    """The prompt, in the model's chat form where it has one.

    returns: (1, tokens) int64
    """
    text = TINY_PROMPT if "fox" in tokenizer.get_vocab() and len(tokenizer) < 200 else PROMPT
    if getattr(tokenizer, "chat_template", None):
        asked = "What is the capital of France?"
        text = in_template(tokenizer, [{"role": "user", "content": asked}])
    ids = tokenizer(text, return_tensors="pt").input_ids
    if ids.shape[-1] == 0:  # as of a folder of some models without their tokenizer's files
        raise CallFailure(
            "bad_input",
            f"Cannot try the model: its tokenizer makes no token of {text!r}",
            hint="Copy tokenizer.json, or tokenizer.model, into the model's folder",
        )
    return ids


def logits_of(model: Any, ids: Any) -> np.ndarray:
    """Logits of every position. ids: (1, n); returns: (n, vocabulary) float32"""
    import torch

    with torch.inference_mode():
        return np.asarray(model(ids).logits[0].float().numpy())


def mean_kl(reference: np.ndarray, other: np.ndarray) -> float:
    """Mean over the positions of KL(reference ‖ other) in nats, in double precision.

    reference, other: (n, vocabulary) logits
    """
    p, q = log_softmax(reference), log_softmax(other)
    return float((np.exp(p) * (p - q)).sum(axis=1).mean())


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Log probabilities in float64, row by row."""
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
