"""The tokens of the shortest keys (Devoto et al. 2024, arXiv 2406.11430)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pare_backends.cache.method import ByBudget, SteppedParams, runs
from pare_backends.cache.policy import Seen
from pare_backends.knobs import declared_knobs

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params(SteppedParams):
    """Knobs, as plugins/kv_cache/knorm.ts declares them."""


class Knorm(ByBudget):
    """Scores a key by its length: short ones get most attention. No query is looked at."""

    def scores(self, seen: Seen) -> torch.Tensor:
        keys = seen.keys
        return -(keys if keys.element_size() > 4 else keys.float()).norm(dim=-1)

    def words(self) -> str:
        return f"{self.much()}, those of the shortest keys"


apply, attach = runs(Knorm)
