"""What scores of keys are made of. Letters as in policy.py."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pare_backends.cache.policy import Seen

ROWS = 256
"""Queries whose attention is in memory at a time: of 4,096 tokens and 9 heads 38 MB, not 604."""


def attention_sums(seen: Seen, last: int | None = None) -> torch.Tensor:
    """What each key gets of the causal attention of the last new tokens, summed over them.

    last: so many of them; None: all. returns: (B, H, S) float32, of each query head
    """

    def make() -> torch.Tensor:
        shape = (*seen.queries.shape[:2], seen.keys.shape[-2])
        sums = seen.queries.new_zeros(shape, dtype=torch.float32)
        for rows in attention_rows(seen, last):
            sums += rows.sum(dim=-2)
        return sums

    return seen.sums.of(last, make)


def attention_rows(seen: Seen, last: int | None = None) -> Iterator[torch.Tensor]:
    """The causal attention of the last new tokens, a few of them at a time: (B, H, t, S) float32"""
    count, keys = seen.queries.shape[-2], seen.keys.shape[-2]
    groups = seen.queries.shape[1] // seen.keys.shape[1]
    transposed = seen.keys.repeat_interleave(groups, dim=1).transpose(-1, -2)  # (B, H, D, S)
    place = torch.arange(keys, device=seen.keys.device)
    for start in range(count - min(count, last or count), count, ROWS):
        rows = seen.queries[..., start : start + ROWS, :]  # (B, H, t, D)
        own = keys - count + start + torch.arange(rows.shape[-2], device=place.device)
        later = place[None, :] > own[:, None]  # (t, S)
        products = (rows @ transposed).float() * seen.scaling
        yield products.masked_fill_(later, -torch.inf).softmax(dim=-1)


def by_key_head(scores: torch.Tensor, seen: Seen, granularity: str) -> torch.Tensor:
    """The mean or the most of the query heads that read one head of keys, (B, H, S) to (B, K, S);
    as they are where each of them chooses for itself."""
    if granularity == "query_head":
        return scores
    heads = seen.keys.shape[1]
    grouped = scores.unflatten(1, (heads, scores.shape[1] // heads))
    return grouped.mean(dim=2) if granularity == "kv_head_mean" else grouped.amax(dim=2)
