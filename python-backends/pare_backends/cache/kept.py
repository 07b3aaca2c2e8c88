"""Layers of a cache that let go of tokens. Letters as in policy.py, with N tokens that are kept."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, cast

import torch
from transformers.cache_utils import DynamicLayer

from pare_backends.cache.policy import ByPlace, CachePolicy


class KeptLayer(DynamicLayer):
    """Keys and values of the tokens that were kept, with their places in the text."""

    is_croppable = False

    def __init__(self) -> None:
        super().__init__()
        self.read = 0
        """Tokens of the text so far, kept or not."""
        self.begun = False
        """Whether the prompt is over, and with it the first decision."""
        self.places = torch.empty(0, dtype=torch.int64)  # (B, K, N)
        self.marks: dict[str, torch.Tensor] = {}  # (B, K, N) by name: `Seen.marks`

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of the kept tokens with the new ones at the end."""
        batch, heads, count = key_states.shape[:3]
        new = torch.arange(self.read, self.read + count).expand(batch, heads, count)
        self.places = torch.cat([self.places, new], dim=-1) if self.read else new
        self.marks = {
            name: torch.nn.functional.pad(marks, (0, count)) for name, marks in self.marks.items()
        }
        self.read += count
        return super().update(key_states, value_states)

    def cut(self, kept: torch.Tensor) -> None:
        """Lets go of all others. kept: (B, K, S) bool

        raises: ValueError where the heads keep unequal numbers: a tensor has one length
        """
        counts = kept.sum(dim=-1)
        count = int(counts.max())
        if bool((counts != count).any()):
            raise ValueError(
                f"every head of a layer must keep as many tokens: {int(counts.min())} to {count}"
            )
        if count == kept.shape[-1]:
            return
        at = kept.nonzero()[:, -1].view(*kept.shape[:2], count)
        # Copies: a part of a tensor would hold the memory of all of it.
        self.keys, self.values = _at(self.keys, at), _at(self.values, at)
        self.marks = {name: marks.gather(-1, at) for name, marks in self.marks.items()}
        self.places = self.places.gather(-1, at.cpu())

    def get_seq_length(self) -> int:
        """Tokens that were read, kept or not: the place of the next one."""
        return self.read

    def crop(self, tokens_to_remove: int) -> None:
        """Refused: what was let go of cannot be had back."""
        raise TypeError("a cache that lets go of tokens cannot be cropped")

    def reset(self) -> None:
        """Forgets everything."""
        super().reset()
        self.is_initialized = self.begun = False
        self.read, self.places, self.marks = 0, torch.empty(0, dtype=torch.int64), {}

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        """The rows in another order, as a search by beams asks for."""
        super().reorder_cache(cast(torch.LongTensor, beam_idx))
        self._take_rows(beam_idx)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Each row so many times."""
        super().batch_repeat_interleave(repeats)
        self._take_rows(torch.arange(self.places.shape[0]).repeat_interleave(repeats))

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """These rows alone."""
        super().batch_select_indices(indices)
        self._take_rows(indices)

    def _take_rows(self, rows: torch.Tensor) -> None:
        if self.read:
            self.places = self.places[rows.cpu()]
            self.marks = {name: marks[rows] for name, marks in self.marks.items()}


class PlacedLayer(KeptLayer):
    """A layer whose policy is a mask: it keeps what the next token may see, of all heads alike."""

    def __init__(self, policy: ByPlace) -> None:
        super().__init__()
        self._policy = policy

    def next_places(self, count: int) -> torch.Tensor:
        """Places of the keys that attention reads with `count` new tokens: (S,) int64"""
        new = torch.arange(self.read, self.read + count)
        return torch.cat([self._places()[self._seen_at(self.read)], new])

    def _places(self) -> torch.Tensor:
        return self.places[0, 0] if self.read else self.places

    def _seen_at(self, place: int) -> torch.Tensor:
        """Which of the kept tokens the token at a place sees; later ones see no others."""
        return self._policy.sees(torch.tensor([place]), self._places())[0]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values at `next_places`; what the last new token does not see is let go of."""
        if self.read:
            self.cut(self._seen_at(self.read).expand(self.places.shape))
        read = super().update(key_states, value_states)
        self.cut(self._seen_at(self.read - 1).expand(self.places.shape))
        return read


def _at(states: Any, at: torch.Tensor) -> torch.Tensor:
    """The states of some tokens. states: (B, K, S, D), at: (B, K, N); returns: (B, K, N, D)"""
    found: torch.Tensor = states.gather(
        -2, at.to(states.device)[..., None].expand(*at.shape, states.shape[-1])
    )
    return found


def kept_cache(cache: Any, policy: CachePolicy) -> Any:
    """The same cache with layers that follow the policy, empty or as they were."""
    if cache.layers and all(isinstance(layer, KeptLayer) for layer in cache.layers):
        return cache
    if cache.get_seq_length() > 0:
        raise TypeError("the cache has kept tokens without the policy")
    cache.layers = [
        PlacedLayer(policy) if isinstance(policy, ByPlace) else KeptLayer() for _ in cache.layers
    ]
    cache.layer_class_to_replicate = None
    return cache


def forked(cache: Any) -> Any:
    """A cache that goes on by itself from here. No tensor is copied: none is ever changed."""
    other = copy.copy(cache)
    other.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in other.layers:
        layer.marks = dict(layer.marks)
    return other


@dataclass(frozen=True)
class KeptTokens:
    """How many tokens a head keeps, by layer."""

    by_layer: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Over the layers."""
        return sum(self.by_layer) / len(self.by_layer)

    @property
    def most(self) -> int:
        """In any layer."""
        return max(self.by_layer)

    def words(self) -> str:
        """For a sentence."""
        return f"{self.mean:g} tokens kept a head, mean over {len(self.by_layer)} layers" + (
            f", {self.most} at most" if self.most != self.mean else ""
        )


def kept_tokens(cache: Any) -> KeptTokens:
    """What a cache holds, counted from its tensors."""
    return KeptTokens(tuple(int(layer.keys.shape[-2]) for layer in cache.layers))


def kept_bytes(cache: Any) -> int:
    """Bytes of the memory behind a cache's keys and values, and behind what a policy notes of them:
    of a view into a longer tensor all of it counts."""
    states = [state for layer in cache.layers for state in (layer.keys, layer.values)]
    states += [mark for layer in cache.layers for mark in getattr(layer, "marks", {}).values()]
    return sum(state.untyped_storage().nbytes() for state in states)
