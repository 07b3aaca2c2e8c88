"""The tokens that the last ones of a prompt look at (SnapKV, Li et al. 2024, arXiv 2404.14469)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pare_backends.cache.method import BudgetParams, ByBudget, runs
from pare_backends.cache.policy import Seen
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params(BudgetParams):
    """Knobs, as plugins/kv_cache/snapkv.ts declares them."""

    kernel: int
    pool: str
    granularity: str


class SnapKV(ByBudget):
    """Scores a key by the attention that the prompt's last `window` tokens pay it and its
    neighbours, `kernel` in all, by the query heads of its group or for each of them."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self.kernel, self.pool = params.kernel, params.pool
        self.granularity = params.granularity
        if params.kernel % 2 == 0:
            raise CallFailure(
                "bad_input", f"Cannot pool over {params.kernel} tokens: kernel must be odd"
            )

    def scores(self, seen: Seen) -> torch.Tensor:
        from torch.nn import functional

        from pare_backends.cache.scoring import attention_sums, by_key_head

        before = seen.keys.shape[-2] - self.window  # the window itself always stays
        sums = by_key_head(attention_sums(seen, self.window), seen, self.granularity)
        pool = functional.avg_pool1d if self.pool == "mean" else functional.max_pool1d
        pooled = pool(sums[..., :before], self.kernel, stride=1, padding=self.kernel // 2)
        return functional.pad(pooled, (0, self.window))

    def words(self) -> str:
        return f"{self.much()}, those that its last {self.window} tokens look at"


apply, attach = runs(SnapKV)
