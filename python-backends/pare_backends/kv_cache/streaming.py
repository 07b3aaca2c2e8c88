"""Attention sinks and a window (StreamingLLM, Xiao et al. 2024): every token sees the first few
tokens of the text, which soak up attention, and the latest ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pare_backends.cache.method import runs
from pare_backends.cache.policy import ByPlace
from pare_backends.knobs import declared_knobs

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params:
    """Knobs, as plugins/kv_cache/streaming.ts declares them."""

    sinks: int
    window: int


@dataclass(frozen=True)
class SinksAndWindow(ByPlace):
    """The first `sinks` tokens and the last `window`, the one that looks included."""

    sinks: int
    window: int

    def sees(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Positions (T,) and (S,) int64; returns: (T, S) bool"""
        age = queries[:, None] - keys[None, :]
        return (age >= 0) & ((keys[None, :] < self.sinks) | (age < self.window))

    def words(self) -> str:
        first = f"the first {self.sinks} and " if self.sinks else ""
        return f"{first}the last {self.window} tokens"


def policy(params: Params) -> SinksAndWindow:
    """What the knobs say."""
    return SinksAndWindow(params.sinks, params.window)


apply, attach = runs(policy)
