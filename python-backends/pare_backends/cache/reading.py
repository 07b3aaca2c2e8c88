"""Reads a context, lets the policy decide, and what follows from what it kept."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import DynamicCache

from pare_backends.cache.attach import running_with
from pare_backends.cache.attention import let_decide
from pare_backends.cache.codes import Coder
from pare_backends.cache.kept import KeptLayer, forked, kept_cache, kept_layers
from pare_backends.cache.policy import CachePolicy, Seen, Sums, When, policy_of


@torch.no_grad()
def read_context(model: Any, tokens: torch.Tensor) -> Any:
    """The cache of a context after the policy's decision. The context may be empty: then there was
    nothing to decide. tokens: (B, T) int64, of a model that has a policy"""
    policy = policy_of(model)
    if policy is None:
        raise TypeError("a model without a policy keeps all that it reads")
    cache = kept_cache(DynamicCache(config=model.config), policy, model.config)
    if tokens.shape[1] > 0:
        model(tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
    for layer in kept_layers(cache):
        layer.begun = True
    return cache


@dataclass(frozen=True)
class ContextRead:
    """What one policy kept of a context that several read together."""

    cache: Any
    seconds: float
    """That the reading and its own decision would have taken alone."""


class _Several:
    """A policy that reads a prompt for others: each decides of the same queries and keys, into a
    cache of its own. It keeps nothing itself."""

    when: When = "after_prompt"
    coder: Coder | None = None

    def __init__(self, model: Any, policies: Sequence[CachePolicy]) -> None:
        self.policies = policies
        self.caches = [
            kept_cache(DynamicCache(config=model.config), one, model.config) for one in policies
        ]
        self.decided = [0.0 for _ in policies]
        """Seconds of each one's decisions, what it took over of another's counted in."""
        self.spent = 0.0
        """Of all decisions together."""

    def keep(self, seen: Seen) -> torch.Tensor:
        sums = Sums()
        _wait_for(seen.keys)
        for number, (policy, cache) in enumerate(zip(self.policies, self.caches, strict=True)):
            started, saved = time.perf_counter(), sums.saved
            layers = kept_layers(cache)
            layers[seen.layer].update(seen.keys, seen.values)
            let_decide(policy, layers, seen.layer, seen.queries, seen.scaling, seen.rotation, sums)
            _wait_for(seen.keys)
            took = time.perf_counter() - started
            self.spent += took
            self.decided[number] += took + sums.saved - saved
        return torch.zeros_like(seen.places, dtype=torch.bool)

    def words(self) -> str:
        return "; ".join(one.words() for one in self.policies)


@torch.no_grad()
def read_contexts(
    model: Any, policies: Sequence[CachePolicy], tokens: torch.Tensor
) -> list[ContextRead]:
    """The caches of a context after the decision of each of several policies, from one pass: what
    `read_context` gives under each. All of them decide after the prompt, of full attention.

    tokens: (B, T) int64, of a model that has such a policy
    """
    several = _Several(model, policies)
    started = time.perf_counter()
    with running_with(model, several):
        read = read_context(model, tokens)
    _wait_for(tokens)
    reading = time.perf_counter() - started - several.spent
    for cache in several.caches:
        for index, layer in enumerate(forked(read).layers):
            if not isinstance(layer, KeptLayer):  # one that no policy cuts, such as a window's
                cache.layers[index] = layer
            else:
                cache.layers[index].begun = True
    return [
        ContextRead(cache, reading + decided)
        for cache, decided in zip(several.caches, several.decided, strict=True)
    ]


def _wait_for(states: torch.Tensor) -> None:
    """Until a GPU has computed what it was asked: a clock tells nothing before."""
    if states.is_cuda:
        torch.cuda.synchronize(states.device)


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
