"""What scores of keys are made of. Letters as in policy.py."""

from __future__ import annotations

import torch

from pare_backends.cache.policy import Seen

ROWS = 256
"""Queries whose attention is in memory at a time: of 4,096 tokens and 9 heads 38 MB, not 604."""


def attention_sums(seen: Seen, last: int | None = None) -> torch.Tensor:
    """What each key gets of the causal attention of the last new tokens, summed over them.

    last: so many of them; None: all. returns: (B, H, S) float32, of each query head
    """
    count, keys = seen.queries.shape[-2], seen.keys.shape[-2]
    groups = seen.queries.shape[1] // seen.keys.shape[1]
    transposed = seen.keys.repeat_interleave(groups, dim=1).transpose(-1, -2)  # (B, H, D, S)
    place = torch.arange(keys, device=seen.keys.device)
    sums = seen.queries.new_zeros((*seen.queries.shape[:2], keys), dtype=torch.float32)
    for start in range(count - min(count, last or count), count, ROWS):
        rows = seen.queries[..., start : start + ROWS, :]  # (B, H, t, D)
        own = keys - count + start + torch.arange(rows.shape[-2], device=place.device)
        later = place[None, :] > own[:, None]  # (t, S)
        products = (rows @ transposed).float() * seen.scaling
        sums += products.masked_fill_(later, -torch.inf).softmax(dim=-1).sum(dim=-2)
    return sums


def by_key_head(scores: torch.Tensor, seen: Seen) -> torch.Tensor:
    """The mean over the query heads that read one head of keys. (B, H, S) to (B, K, S)"""
    heads = seen.keys.shape[1]
    return scores.unflatten(1, (heads, scores.shape[1] // heads)).mean(dim=2)
