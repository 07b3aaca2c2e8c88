"""Heavy hitters: the tokens that were paid most attention in all, and the latest (H2O, Zhang et al.
2023, arXiv 2306.14048)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pare_backends.cache.method import ByBudget, SteppedParams, runs
from pare_backends.cache.policy import Seen
from pare_backends.knobs import declared_knobs

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params(SteppedParams):
    """Knobs, as plugins/kv_cache/h2o.ts declares them."""

    recent_share: float
    granularity: str


class H2O(ByBudget):
    """Scores a key by the attention that all tokens so far have paid it, by the query heads
    of its group or for each of them. Its sum is kept with it and goes on after the prompt."""

    def __init__(self, params: Params) -> None:
        self.recent_share, self.granularity = params.recent_share, params.granularity
        super().__init__(params)

    def window_of(self, budget: int) -> int:
        return min(int(self.recent_share * budget), budget - self.sinks) or self.window

    def scores(self, seen: Seen) -> torch.Tensor:
        from pare_backends.cache.scoring import attention_sums, by_key_head

        sums = by_key_head(attention_sums(seen), seen, self.granularity)
        if self.when != "after_prompt":
            sums = sums + seen.marks.get("sums", 0)
            seen.marks["sums"] = sums
        return sums

    def words(self) -> str:
        return f"{self.much()}, those that were looked at most and the latest"


apply, attach = runs(H2O)
