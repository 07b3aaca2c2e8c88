"""Attention sinks and a window (StreamingLLM, Xiao et al. 2024): every token sees the first few
tokens of the text, which soak up attention, and the latest ones. Or, as others evaluate it, what
follows a prompt sees them, which was read in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pare_backends.cache.method import runs
from pare_backends.cache.policy import ByPlace, ByScores, CachePolicy
from pare_backends.knobs import declared_knobs

if TYPE_CHECKING:
    import torch

    from pare_backends.cache.policy import Seen


@declared_knobs
class Params:
    """Knobs, as plugins/kv_cache/streaming.ts declares them."""

    sinks: int
    window: int
    evicts: str
    budget_in: str
    share: float


def _first(sinks: int) -> str:
    return f"the first {sinks} and " if sinks else ""


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
        return f"{_first(self.sinks)}the last {self.window} tokens"


class SinksAndLatest(ByScores):
    """The same of a prompt that was read in full, as tokens or as a share of it."""

    def __init__(self, params: Params) -> None:
        self.knobs, self.sinks = params, params.sinks

    def scores(self, seen: Seen) -> torch.Tensor:
        """The later the higher."""
        return seen.places.float()

    def budget(self, seen: Seen) -> int:
        if self.knobs.budget_in == "tokens":
            return self.sinks + self.knobs.window
        return max(self.sinks + self.window, int(self.knobs.share * seen.read))

    def words(self) -> str:
        share = f"the latest, {100 * self.knobs.share:g} % of a prompt's tokens in all"
        tokens = f"the last {self.knobs.window} tokens of a prompt"
        return _first(self.sinks) + (tokens if self.knobs.budget_in == "tokens" else share)


def policy(params: Params) -> CachePolicy:
    """What the knobs say."""
    if params.evicts == "after_prompt":
        return SinksAndLatest(params)
    return SinksAndWindow(params.sinks, params.window)


apply, attach = runs(policy)
