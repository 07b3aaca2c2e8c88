"""Walks from the last token of a prompt back along attention. B texts, T tokens, W of a window."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from pare_backends.cache.policy import Seen
from pare_backends.cache.scoring import attention_rows, attention_sums


@dataclass(frozen=True)
class Walks:
    """Where a step leads, always to an earlier token.

    From one of the last W it goes by that token's attention, the most of all heads. Of the others
    no rows are kept: from there it goes by what each earlier token gets of all attention.
    """

    rows: torch.Tensor
    """(B, W, T) float64: chances of each step from the last W tokens."""
    weights: torch.Tensor
    """(B, T) float64: from any other token, as they are to each other."""
    sinks: int
    """First tokens, where walks end."""

    @classmethod
    def along(cls, seen: Seen, window: int, temperature: float, sinks: int) -> Walks:
        """The walks of one layer. temperature: above 1 steps are more even, below less"""
        count = seen.keys.shape[-2]
        last = torch.cat([rows.amax(dim=1) for rows in attention_rows(seen, window)], dim=1)
        own = torch.arange(count - last.shape[1], count, device=last.device)
        earlier = torch.arange(count, device=last.device)[None, :] < own[:, None]
        steps = (last.double() * earlier) ** (1 / temperature)
        rows = steps / steps.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(steps.dtype).tiny)
        weights = attention_sums(seen).sum(dim=1).double() ** (1 / temperature)
        return cls(rows, weights, sinks)

    @property
    def before(self) -> int:
        """Tokens before the window."""
        return self.weights.shape[-1] - self.rows.shape[-2]


def expected_visits(walks: Walks, steps: int) -> torch.Tensor:
    """How often a walk is at each token on average, its beginning apart. returns: (B, T)"""
    weights, before = walks.weights, walks.before
    totals = weights.cumsum(dim=-1) - weights  # of all earlier tokens
    there = torch.zeros_like(weights)
    there[:, -1] = 1
    visits = torch.zeros_like(weights)
    for _ in range(steps):
        there[:, : walks.sinks] = 0
        shares = torch.where(totals > 0, there / totals, 0)[:, :before]
        onward = shares.flip(-1).cumsum(dim=-1).flip(-1) - shares  # of all later ones
        by_rows = (there[:, None, before:] @ walks.rows)[:, 0]
        there = by_rows
        there[:, :before] += weights[:, :before] * onward
        visits += there
    return visits


def walked_visits(walks: Walks, walkers: int, steps: int, draw: torch.Generator) -> torch.Tensor:
    """How often so many walks are at each token, divided by their number. Each text has the same
    draws, whatever stands beside it. returns: (B, T)"""
    weights, before = walks.weights, walks.before
    rows, totals = walks.rows.cumsum(dim=-1), weights.cumsum(dim=-1)
    batch, count = weights.shape
    at = torch.full((batch, walkers), count - 1, device=weights.device)
    under_way = torch.ones_like(at, dtype=torch.bool)
    visits = torch.zeros_like(weights)
    for _ in range(steps):
        under_way = under_way & (at >= walks.sinks) & (at > 0)
        chance = torch.rand(walkers, generator=draw, dtype=torch.float64).to(weights.device)
        chance = chance.expand(batch, walkers).contiguous()
        reach = totals.gather(-1, (at - 1).clamp(min=0))
        by_weights = torch.searchsorted(totals, chance * reach, right=True)
        own = rows.gather(1, (at - before).clamp(min=0)[..., None].expand(-1, -1, count))
        by_row = torch.searchsorted(own, (chance * own[..., -1])[..., None], right=True)[..., 0]
        onward = torch.where(at >= before, by_row, by_weights)
        at = torch.where(under_way, torch.minimum(onward, (at - 1).clamp(min=0)), at)
        visits.scatter_add_(-1, at, under_way.to(visits.dtype))
    return visits / walkers
