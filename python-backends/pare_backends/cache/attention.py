"""Attention in which a policy decides what a layer keeps, by transformers' `AttentionInterface`: it
gets queries and keys as every architecture computes them, rotated and normalized."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.cache_utils import DynamicSlidingWindowLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from pare_backends.cache.kept import KeptLayer, kept_layers
from pare_backends.cache.policy import CachePolicy, Seen, Sums
from pare_backends.cache.rotation import Rotation

NAME = "pare"
"""Of this attention in the configuration of a model."""


@dataclass(frozen=True)
class Pass:
    """One forward pass under a policy. Nothing of a decision outlives it but the cache."""

    policy: CachePolicy
    cache: Any
    """None: nothing is kept after the pass."""
    rotation: Rotation | None = None
    """The model's."""
    reached: set[int] = field(default_factory=set)
    """Layers whose attention came by here."""
    first: list[torch.Tensor] | None = None
    """Where it is asked for: the queries of the first of them."""

    def decide(self, module: Any, queries: torch.Tensor, scaling: float | None) -> None:
        """Lets the policy choose among the keys of a layer."""
        scaled = queries.shape[-1] ** -0.5 if scaling is None else scaling
        layers = kept_layers(self.cache)
        own = self.cache.layers[module.layer_idx]
        number = next(number for number, layer in enumerate(layers) if layer is own)
        let_decide(self.policy, layers, number, queries, scaled, self.rotation)


def let_decide(
    policy: CachePolicy,
    layers: list[KeptLayer],
    number: int,
    queries: torch.Tensor,
    scaling: float,
    rotation: Rotation | None,
    sums: Sums | None = None,
) -> None:
    """Lets a policy choose among the keys that one of the layers it cuts has just read, where it
    decides now. queries: (B, H, T, D); sums: `Seen.sums` of others that see the same"""
    layer = layers[number]
    decides = not layer.begun or policy.when != "after_prompt"
    layer.begun = True
    if not decides:
        return
    keys: Any = layer.keys
    seen = Seen(
        layer=number,
        layers=len(layers),
        queries=queries,
        keys=keys,
        values=layer.values,  # type: ignore[arg-type]
        scaling=scaling,
        places=layer.places.to(keys.device),
        read=layer.read,
        marks=layer.marks,
        rotation=rotation,
        **({} if sums is None else {"sums": sums}),
    )
    layer.cut(policy.keep(seen))
    layer.settle()


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
    numbers; then the policy decides. A layer that keeps a window of its own keeps to that.
    query: (B, H, T, D); key, value: (B, K, S, D)"""
    under_way = UNDER_WAY.get()
    if under_way is None:
        raise RuntimeError(f'the attention "{NAME}" runs in the passes of a model with a policy')
    number = int(module.layer_idx)  # type: ignore[arg-type]
    if under_way.first is not None and not under_way.reached:
        under_way.first.append(query)
    under_way.reached.add(number)
    layer = None if under_way.cache is None else under_way.cache.layers[number]
    own = named.pop("sliding_window", None)
    named["scaling"] = scaling
    if isinstance(layer, DynamicSlidingWindowLayer) and own != layer.sliding_window:
        raise RuntimeError("a layer keeps a window of which its attention does not tell")
    if not isinstance(layer, KeptLayer):
        return attended(module, query, key, value, seen_mask(query, key, own), **named), None
    if under_way.policy.when != "each_token" or query.shape[-2] == 1:
        output = attended(module, query, key, value, seen_mask(query, key), **named)
        under_way.decide(module, query, scaling)
        return output, None
    layer.take_back(query.shape[-2])
    outputs = []
    new = (part.split(1, dim=-2) for part in (query, *(_new(one, query) for one in (key, value))))
    for row, own_key, own_value in zip(*new, strict=True):
        keys, values = layer.update(own_key, own_value)
        outputs.append(attended(module, row, keys, values, None, **named))
        under_way.decide(module, row, scaling)
    return torch.cat(outputs, dim=1), None


def _new(states: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Those of the new tokens."""
    return states[..., states.shape[-2] - query.shape[-2] :, :]


def attended(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    **named: Any,
) -> torch.Tensor:
    """What attention gives. returns: (B, T, H, D)"""
    if key.shape[1] == query.shape[1]:  # each query head has keys of its own
        module = SimpleNamespace(is_causal=getattr(module, "is_causal", True))
    output: torch.Tensor = sdpa_attention_forward(module, query, key, value, mask, **named)[0]
    return output


def seen_mask(
    query: torch.Tensor, key: torch.Tensor, window: int | None = None
) -> torch.Tensor | None:
    """Hides later tokens of one pass from earlier ones, and what has left a window; what was kept
    before is seen by all. None where SDPA does so by itself. returns: (1, 1, T, S) bool"""
    count, keys = query.shape[-2], key.shape[-2]
    if count in (1, keys) and (window is None or keys <= window):
        return None
    seen = torch.ones((count, keys), dtype=torch.bool, device=query.device)
    seen = seen.tril(diagonal=keys - count)
    return (seen if window is None else seen.triu(diagonal=keys - count - window + 1))[None, None]


def no_mask(**_: Any) -> None:
    """A model makes one mask for all its layers, by the length of the first: `attention` makes one
    a layer."""


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, no_mask)
