"""The tokens that the last one looks at (TOVA, Oren et al. 2024, arXiv 2401.06104)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pare_backends.cache.method import ByBudget, SteppedParams, runs
from pare_backends.cache.policy import Seen
from pare_backends.knobs import declared_knobs

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params(SteppedParams):
    """Knobs, as plugins/kv_cache/tova.ts declares them."""


class TOVA(ByBudget):
    """Scores a key by the attention that the last token pays it, the mean over all heads of a
    layer: they keep the same tokens."""

    def scores(self, seen: Seen) -> torch.Tensor:
        from pare_backends.cache.scoring import attention_sums

        return attention_sums(seen, 1).mean(dim=1, keepdim=True).expand(seen.places.shape)

    def words(self) -> str:
        return f"{self.much()}, those that the last token looks at"


apply, attach = runs(TOVA)
