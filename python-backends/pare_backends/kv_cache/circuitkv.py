"""Tokens that walks back from the last one along attention come by (CircuitKV: one anonymous
repository, without a paper; experimental)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pare_backends.cache.method import BudgetParams, ByBudget, runs
from pare_backends.cache.policy import Seen
from pare_backends.knobs import declared_knobs

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params(BudgetParams):
    """Knobs, as plugins/kv_cache/circuitkv.ts declares them."""

    mode: str
    num_walkers: int
    num_steps: int
    temperature: float
    walk_seed: int


class CircuitKV(ByBudget):
    """Scores a key by how often walks are there that begin at the last token, step to earlier ones
    by attention and end at a sink; over the root of its distance. One set for all heads."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self.params = params

    def scores(self, seen: Seen) -> torch.Tensor:
        import torch

        from pare_backends.cache.walks import Walks, expected_visits, walked_visits

        params = self.params
        walks = Walks.along(seen, self.window, params.temperature, self.sinks)
        if params.mode == "expected":
            visits = expected_visits(walks, params.num_steps)
        else:
            draw = torch.Generator().manual_seed(1009 * params.walk_seed + seen.layer)
            visits = walked_visits(walks, params.num_walkers, params.num_steps, draw)
        count = visits.shape[-1]
        distance = torch.arange(count + 1, 1, -1, device=visits.device)
        return (visits / distance.sqrt())[:, None].expand(seen.places.shape)

    def words(self) -> str:
        return f"{self.much()}, those that walks along attention come by"


apply, attach = runs(CircuitKV)
