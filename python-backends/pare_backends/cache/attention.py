"""Attention in which a policy decides what a layer keeps, by transformers' `AttentionInterface`: it
gets queries and keys as every architecture computes them, rotated and normalized."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from pare_backends.cache.kept import KeptLayer
from pare_backends.cache.policy import CachePolicy, Seen

NAME = "pare"
"""Of this attention in the configuration of a model."""


@dataclass(frozen=True)
class Pass:
    """One forward pass under a policy. Nothing of a decision outlives it but the cache."""

    policy: CachePolicy
    cache: Any
    """None: nothing is kept after the pass."""
    reached: set[int] = field(default_factory=set)
    """Layers whose attention came by here."""

    def decide(self, module: Any, queries: torch.Tensor, scaling: float | None) -> None:
        """Lets the policy choose among the keys of a layer."""
        scaled = queries.shape[-1] ** -0.5 if scaling is None else scaling
        let_decide(self.policy, self.cache, module.layer_idx, queries, scaled)


def let_decide(
    policy: CachePolicy, cache: Any, index: int, queries: torch.Tensor, scaling: float
) -> None:
    """Lets a policy choose among the keys that a layer of its cache has just read, where it decides
    now. queries: (B, H, T, D)"""
    layer: KeptLayer = cache.layers[index]
    decides = not layer.begun or policy.when == "each_step"
    layer.begun = True
    if not decides:
        return
    keys: Any = layer.keys
    seen = Seen(
        layer=index,
        layers=len(cache.layers),
        queries=queries,
        keys=keys,
        values=layer.values,  # type: ignore[arg-type]
        scaling=scaling,
        places=layer.places.to(keys.device),
        read=layer.read,
        marks=layer.marks,
    )
    layer.cut(policy.keep(seen))


UNDER_WAY: ContextVar[Pass | None] = ContextVar("pare_cache_pass", default=None)


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **named: Any,
) -> tuple[torch.Tensor, None]:
    """transformers' own SDPA with a mask of this layer's length, as layers may keep unequal
    numbers; then the policy decides. query: (B, H, T, D); key, value: (B, K, S, D)"""
    under_way = UNDER_WAY.get()
    if under_way is None:
        raise RuntimeError(f'the attention "{NAME}" runs in the passes of a model with a policy')
    mask = later_mask(query, key)
    output: tuple[torch.Tensor, None] = sdpa_attention_forward(
        module, query, key, value, mask, scaling=scaling, **named
    )
    under_way.reached.add(int(module.layer_idx))  # type: ignore[arg-type]
    if under_way.cache is not None:
        under_way.decide(module, query, scaling)
    return output


def later_mask(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor | None:
    """Hides later tokens of one pass from earlier ones; what was kept before is seen by all. None
    where SDPA does so by itself. returns: (1, 1, T, S) bool"""
    count, keys = query.shape[-2], key.shape[-2]
    if count in (1, keys):
        return None
    seen = torch.ones((count, keys), dtype=torch.bool, device=query.device)
    return seen.tril(diagonal=keys - count)[None, None]


def no_mask(**_: Any) -> None:
    """A model makes one mask for all its layers, by the length of the first: `attention` makes one
    a layer."""


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, no_mask)
