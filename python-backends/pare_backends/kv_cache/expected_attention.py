"""The tokens that those to come will probably look at (Devoto et al. 2025, arXiv 2510.00636)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pare_backends.cache.method import BudgetParams, ByBudget, runs
from pare_backends.cache.policy import Seen
from pare_backends.knobs import declared_knobs

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params(BudgetParams):
    """Knobs, as plugins/kv_cache/expected_attention.ts declares them."""

    future: int
    use_covariance: bool
    use_vnorm: bool
    epsilon: float
    granularity: str


class ExpectedAttention(ByBudget):
    """Scores a key by the attention of queries of a normal distribution, times the length of its
    value. The distribution is that of the prompt's queries before their places turned them, turned
    by the mean of the next `future` places. Sinks take no part."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self.params = params

    def scores(self, seen: Seen) -> torch.Tensor:
        import torch
        from torch.nn import functional

        from pare_backends.cache.scoring import by_key_head

        params, sinks = self.params, self.sinks
        if seen.rotation is None:
            raise ValueError("expected attention is told how the model turns queries")
        seen.rotation.require()
        wide = torch.promote_types(seen.keys.dtype, torch.float32)
        places = torch.arange(sinks, seen.queries.shape[-2])
        queries = seen.rotation.undone(seen.queries[..., sinks:, :].to(wide), places)

        def to_come(states: torch.Tensor) -> torch.Tensor:
            return seen.rotation.mean(states, seen.read, params.future)  # type: ignore[union-attr]

        groups = seen.queries.shape[1] // seen.keys.shape[1]
        keys = seen.keys[..., sinks:, :].to(wide).repeat_interleave(groups, dim=1)  # (B, H, N, D)
        mean = queries.mean(dim=-2, keepdim=True)
        products = (keys * to_come(mean)).sum(dim=-1) * seen.scaling  # (B, H, N)
        if params.use_covariance:
            apart = queries - mean
            spread = apart.transpose(-1, -2) @ apart / queries.shape[-2]  # (B, H, D, D)
            spread = to_come(to_come(spread).transpose(-1, -2))
            products += (keys @ spread * keys).sum(dim=-1) * seen.scaling**2 / 2
        paid = by_key_head(products.softmax(dim=-1), seen, params.granularity)
        if params.use_vnorm:
            lengths = seen.values[..., sinks:, :].to(wide).norm(dim=-1)
            lengths = lengths.repeat_interleave(paid.shape[1] // lengths.shape[1], dim=1)
            paid = (paid + params.epsilon) * lengths
        return functional.pad(paid, (sinks, 0))

    def words(self) -> str:
        return f"{self.much()}, those that tokens to come will probably look at"


apply, attach = runs(ExpectedAttention)
