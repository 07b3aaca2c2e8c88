"""Reads a context, lets the policy decide, and what follows from what it kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from transformers.cache_utils import DynamicCache

from pare_backends.cache.kept import forked, kept_cache
from pare_backends.cache.policy import policy_of


@torch.no_grad()
def read_context(model: Any, tokens: torch.Tensor) -> Any:
    """The cache of a context after the policy's decision. The context may be empty: then there was
    nothing to decide. tokens: (B, T) int64, of a model that has a policy"""
    policy = policy_of(model)
    if policy is None:
        raise TypeError("a model without a policy keeps all that it reads")
    cache = kept_cache(DynamicCache(config=model.config), policy)
    if tokens.shape[1] > 0:
        model(tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
    for layer in cache.layers:
        layer.begun = True
    return cache


@torch.no_grad()
def follow(model: Any, cache: Any, tokens: torch.Tensor) -> torch.Tensor:
    """Logits of tokens that follow a context, read from what was kept of it; the cache stays as it
    is, so that others may follow the same context. tokens: (B, T); returns: (B, T, vocabulary)"""
    own = forked(cache)
    parts = [
        model(part, past_key_values=own, use_cache=True).logits for part in passes(model, tokens)
    ]
    return torch.cat(parts, dim=1)


def passes(model: Any, tokens: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tokens as a model reads them after its prompt: one by one where its policy decides at
    each step, else all at once."""
    policy = policy_of(model)
    steps = policy is not None and policy.when == "each_step"
    yield from tokens.split(1 if steps else max(1, tokens.shape[1]), dim=1)
