"""All tokens, as codes of a few bits: KIVI (Liu et al. 2024, arXiv 2402.02750) or TurboQuant
(Zandieh et al. 2025, arXiv 2504.19874)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pare_backends.cache.method import CodeParams, runs
from pare_backends.cache.policy import Seen, When
from pare_backends.knobs import declared_knobs

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params(CodeParams):
    """Knobs, as plugins/kv_cache/kv_quant.ts declares them."""


class Stored:
    """Lets go of nothing. Tokens older than the residual become codes after the prompt, and after
    each later token; the prompt itself is read in full precision."""

    when: When = "each_step"

    def __init__(self, params: Params) -> None:
        self.coder = params.coder()

    def keep(self, seen: Seen) -> torch.Tensor:
        import torch

        return torch.ones_like(seen.places, dtype=torch.bool)

    def words(self) -> str:
        return f"all tokens as {self.coder.words()}" if self.coder else "all tokens"


apply, attach = runs(Stored)
