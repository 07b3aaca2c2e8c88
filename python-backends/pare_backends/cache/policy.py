"""The contract of cache policies, at two levels.

Letters: B sequences, H query heads, K heads of keys and values, T new tokens, S keys that attention
reads, D features of a head. Places count tokens from 0, in the text and not in the cache.

Wide (`CachePolicy`): what each layer and each of its heads keeps, and when that is decided. A
policy says it by `keep`, from the queries and keys of one layer.
* `ByPlace`: places alone decide. A mask then says it all, so that a text may be read at once or
  token by token, with a cache or without one. `streaming` is one.
* A policy with a `coder` (codes.py) stores what stays as codes of a few bits. `kv_quant` is one
  that lets go of nothing.

Narrow (`ByScores`): a score of each key, of which the best stay.
* `snapkv` decides once, after the prompt; `pyramidkv` is the same with a `budget` by layer.
* `h2o`, `tova` and `knorm` may go on: `when` is "each_step" or "each_token" then. What has to be
  remembered of a token, such as h2o's running sum, is written into `Seen.marks`.
* Scores of each query head, in place of one for all that share its keys, store the keys once for
  every query head.

A key keeps the rotation of its token's place in the text. StreamingLLM counts places within the
cache, so that a text may be longer than any that the model was trained on. pare evaluates no text
beyond the model's context. With places as they stand the outcome is exactly that of full attention
with a mask, for every kind of position that a model may have, and the same for all policies.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import torch

    from pare_backends.cache.codes import Coder
    from pare_backends.cache.rotation import Rotation

When = Literal["after_prompt", "each_step", "each_token"]
"""When a policy decides: once, after the first pass over a text; after every pass; or after every
token within a pass too, so that a text may be read in any parts."""

ATTRIBUTE = "pare_cache_policy"
"""Of a model: the policy that it runs with."""


class Sums:
    """Sums of attention by how many rows they are over, each made once."""

    def __init__(self) -> None:
        self._made: dict[int | None, tuple[torch.Tensor, float]] = {}
        self.saved = 0.0
        """Seconds that would have been spent where each who asked had made its own."""

    def of(self, rows: int | None, make: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Those over so many rows. They are shared: nobody writes into them."""
        if rows in self._made:
            found, seconds = self._made[rows]
            self.saved += seconds
            return found
        started = time.perf_counter()
        found = make()
        self._made[rows] = (found, time.perf_counter() - started)
        return found


@dataclass(frozen=True)
class Seen:
    """What one layer has just read: all that a decision may rest on, of this pass alone."""

    layer: int
    layers: int
    """Of those whose cache is cut."""
    queries: torch.Tensor
    """(B, H, T, D), rotated as attention takes them."""
    keys: torch.Tensor
    """(B, K, S, D), rotated; the new tokens are the last T."""
    values: torch.Tensor
    """(B, K, S, D)"""
    scaling: float
    """Of the product of query and key."""
    places: torch.Tensor
    """(B, K, S) int64: where in the text each key's token stands, ascending."""
    read: int
    """Tokens of the text so far, the new ones included."""
    marks: dict[str, torch.Tensor]
    """The policy's own notes on each key, (B, K, S) by name, empty at first. They are kept and let
    go of as the keys are; a new token's is 0. A decision puts others in their place."""
    rotation: Rotation | None = None
    """How the model turned queries and keys; None: nobody asked."""
    sums: Sums = field(default_factory=Sums)
    """What `attention_sums` gave of this very pass and layer: several policies that decide of the
    same queries and keys share it."""


class CachePolicy(Protocol):
    """The wide contract."""

    when: When
    coder: Coder | None
    """How what stays is stored; None: as it is."""

    def keep(self, seen: Seen) -> torch.Tensor:
        """Which of the keys stay, as many in every head of the layer: (B, K, S) bool, or (B, H, S)
        where each query head has keys of its own from now on."""
        ...

    def words(self) -> str:
        """What is kept, as the end of a phrase."""
        ...


class ByPlace(ABC):
    """A wide policy by places alone, decided at each step."""

    when: When = "each_token"
    coder: Coder | None = None

    @abstractmethod
    def sees(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Whether the token at a place sees the one at another. What it does not, no later one
        does. queries: (T,), keys: (S,) int64; returns: (T, S) bool"""

    def keep(self, seen: Seen) -> torch.Tensor:
        """What the last token sees."""
        last = seen.places.new_tensor([seen.read - 1])
        return self.sees(last, seen.places.flatten())[0].view_as(seen.places)

    @abstractmethod
    def words(self) -> str:
        """As `CachePolicy.words`."""


class ByScores(ABC):
    """The narrow contract: `budget` keys a head stay, the first `sinks` and the last `window` of
    the text among them, then those of the highest scores; of equal ones the earlier."""

    when: When = "after_prompt"
    coder: Coder | None = None
    sinks: int = 0
    window: int = 1
    every: int = 1
    """Where it goes on after the prompt: it cuts as soon as so many are too many."""

    @abstractmethod
    def scores(self, seen: Seen) -> torch.Tensor:
        """Of each key, for its head: (B, K, S) float, or (B, H, S); what sinks and window hold
        stays whatever its score. Where `when` goes on, it hears of every pass."""

    @abstractmethod
    def budget(self, seen: Seen) -> int:
        """Keys a head of this layer keeps, sinks and window included."""

    def recent(self, seen: Seen) -> int:
        """Last tokens of the text that always stay."""
        return self.window

    def keep(self, seen: Seen) -> torch.Tensor:
        """The best by score. raises: ValueError where sinks and window do not fit the budget"""
        import torch

        count, budget, window = seen.keys.shape[-2], self.budget(seen), self.recent(seen)
        if budget < min(count, self.sinks + window):
            raise ValueError(
                f"a budget of {budget} tokens has no room for {self.sinks} sinks and a window of "
                f"{window}"
            )
        first = seen.queries.shape[-2] == seen.read
        room = budget if first and self.when != "each_token" else budget + self.every - 1
        scores = None if room >= count and self.when == "after_prompt" else self.scores(seen)
        if scores is None or room >= count:
            return torch.ones_like(seen.places, dtype=torch.bool)
        always = (seen.places < self.sinks) | (seen.places >= seen.read - window)
        always = always.repeat_interleave(scores.shape[1] // always.shape[1], dim=1)
        scores = scores.masked_fill(always, torch.inf)
        best = scores.argsort(dim=-1, descending=True, stable=True)[..., :budget]
        return torch.zeros_like(always).scatter(-1, best, True)


def policy_of(model: Any) -> CachePolicy | None:
    """The policy that a model runs with; None: it keeps every token."""
    found: CachePolicy | None = getattr(model, ATTRIBUTE, None)
    return found


def chooses_by_content(model: Any) -> bool:
    """Whether what the model keeps depends on what it has read: one pass over a whole text then
    says nothing of what follows a decision."""
    return shares_prompts(policy_of(model))


def shares_prompts(policy: CachePolicy | None) -> bool:
    """Whether a policy decides at the end of a prompt that it has read with full attention, so that
    it may be read once for several."""
    return policy is not None and policy.when != "each_token"
