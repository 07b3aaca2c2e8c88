"""Layers of a cache that let go of tokens. Letters as in policy.py, with N tokens that are kept."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, cast

import torch
from transformers.cache_utils import (
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

from pare_backends.cache.codes import Coded, Coder
from pare_backends.cache.linear import LinearAttentionLayer
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
        if self.read:  # where each query head keeps its own, the new ones are there once for each
            copies = self.keys.shape[1] // key_states.shape[1]  # type: ignore[union-attr]
            key_states, value_states = _copied(key_states, copies), _copied(value_states, copies)
        batch, heads, count = key_states.shape[:3]
        new = torch.arange(self.read, self.read + count).expand(batch, heads, count)
        self.places = torch.cat([self.places, new], dim=-1) if self.read else new
        self.marks = {
            name: torch.nn.functional.pad(marks, (0, count)) for name, marks in self.marks.items()
        }
        self.read += count
        return super().update(key_states, value_states)

    def take_back(self, count: int) -> None:
        """As before the last so many tokens, where nothing has been cut since."""
        before = self.places.shape[-1] - count
        self.keys, self.values = self.keys[..., :before, :], self.values[..., :before, :]  # type: ignore[index]
        self.marks = {name: marks[..., :before] for name, marks in self.marks.items()}
        self.places, self.read = self.places[..., :before], self.read - count

    def cut(self, kept: torch.Tensor) -> None:
        """Lets go of all others. kept: (B, K, S) bool, or (B, H, S): the keys are then there once
        for each query head

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
        copies = kept.shape[1] // self.places.shape[1]
        self.keys, self.values = _copied(self.keys, copies), _copied(self.values, copies)
        self.places = _copied(self.places, copies)
        # Copies: a part of a tensor would hold the memory of all of it.
        self.keys, self.values = _at(self.keys, at), _at(self.values, at)
        self.marks = {
            name: _copied(marks, at.shape[1] // marks.shape[1]).gather(-1, at)
            for name, marks in self.marks.items()
        }
        self.places = self.places.gather(-1, at.cpu())

    def settle(self) -> None:
        """After a decision: a layer that stores tokens in another form does so now."""

    def held(self) -> list[Any]:
        """Every tensor that it keeps beside its places."""
        return [self.keys, self.values, *self.marks.values()]

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


class CodedLayer(KeptLayer):
    """A layer whose older tokens are codes; `keys` and `values` are those that are not."""

    def __init__(self, coder: Coder) -> None:
        super().__init__()
        self._coder = coder
        self.coded: Coded | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values, of older tokens those that their codes stand for."""
        keys, values = super().update(key_states, value_states)
        if self.coded is None:
            return keys, values
        older, of_older = self._coder.decode(self.coded, keys.dtype)
        return torch.cat([older, keys], dim=-2), torch.cat([of_older, values], dim=-2)

    def settle(self) -> None:
        """Codes what is older than the residual, in whole units."""
        keys, values = cast(torch.Tensor, self.keys), cast(torch.Tensor, self.values)
        unit = self._coder.unit
        count = max(0, keys.shape[-2] - self._coder.residual) // unit * unit
        if count == 0:
            return
        new = self._coder.encode(keys[..., :count, :], values[..., :count, :])
        self.coded = (
            new
            if self.coded is None
            else tuple(torch.cat(both, dim=2) for both in zip(self.coded, new, strict=True))
        )
        self.keys, self.values = keys[..., count:, :].clone(), values[..., count:, :].clone()

    def cut(self, kept: torch.Tensor) -> None:
        """As of any layer, as long as nothing is coded."""
        if self.coded is not None and not bool(kept.all()):
            raise TypeError("tokens that are codes are not let go of")
        super().cut(kept)

    def held(self) -> list[Any]:
        """As of any layer, with the codes."""
        return [*super().held(), *(self.coded or ())]

    def reset(self) -> None:
        """Forgets everything."""
        super().reset()
        self.coded = None

    def _take_rows(self, rows: torch.Tensor) -> None:
        super()._take_rows(rows)
        if self.coded is not None:
            self.coded = tuple(one[rows.to(one.device)] for one in self.coded)


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


def _copied(states: Any, copies: int) -> Any:
    """Of each head so many, side by side. states: (B, K, ...)"""
    return states if copies == 1 else states.repeat_interleave(copies, dim=1)


def _at(states: Any, at: torch.Tensor) -> torch.Tensor:
    """The states of some tokens. states: (B, K, S, D), at: (B, K, N); returns: (B, K, N, D)"""
    found: torch.Tensor = states.gather(
        -2, at.to(states.device)[..., None].expand(*at.shape, states.shape[-1])
    )
    return found


def keeps_all(layer: Any, config: Any) -> bool:
    """Whether a layer keeps keys and values of every token of a text that the model can read."""
    if type(layer) is DynamicSlidingWindowLayer:
        context = getattr(config.get_text_config(), "max_position_embeddings", None) or 0
        return bool(layer.sliding_window >= context)
    return type(layer) is DynamicLayer


def masks(policy: CachePolicy, config: Any) -> bool:
    """Whether a mask says all that a policy does on a model: where some layers keep their own, one
    mask for all layers does not."""
    layers = DynamicCache(config=config).layers
    return isinstance(policy, ByPlace) and all(keeps_all(layer, config) for layer in layers)


def kept_cache(cache: Any, policy: CachePolicy, config: Any) -> Any:
    """The same cache with layers that follow the policy, empty or as they were. A layer that keeps
    a window or a state of its own goes on with that. config: the model's"""
    if kept_layers(cache):
        return cache
    if cache.get_seq_length() > 0:
        raise TypeError("the cache has kept tokens without the policy")

    by_mask = masks(policy, config)

    def kept() -> KeptLayer:
        if by_mask and isinstance(policy, ByPlace):
            return PlacedLayer(policy)
        return KeptLayer() if policy.coder is None else CodedLayer(policy.coder)

    cache.layers = [kept() if keeps_all(layer, config) else layer for layer in cache.layers]
    cache.layer_class_to_replicate = None
    return cache


def kept_layers(cache: Any) -> list[KeptLayer]:
    """Those layers of a cache that a policy cuts."""
    return [layer for layer in cache.layers if isinstance(layer, KeptLayer)]


def forked(cache: Any) -> Any:
    """A cache that goes on by itself from here. Keys and values are not copied: none are ever
    changed. A linear attention changes its state, which is."""
    other = copy.copy(cache)
    other.layers = [
        copy.deepcopy(layer) if isinstance(layer, LinearAttentionLayer) else copy.copy(layer)
        for layer in cache.layers
    ]
    for layer in kept_layers(other):
        layer.marks = dict(layer.marks)
    return other


@dataclass(frozen=True)
class KeptTokens:
    """How many tokens a head keeps, by layer."""

    by_layer: tuple[int, ...]
    """Of the layers that are cut; none: every layer keeps a state in place of tokens."""
    cut: tuple[int, ...] = ()
    """Which layers of the model these are, where others keep their own."""

    @property
    def mean(self) -> float:
        """Over the layers."""
        return sum(self.by_layer) / max(1, len(self.by_layer))

    @property
    def most(self) -> int:
        """In any layer."""
        return max(self.by_layer, default=0)

    def words(self) -> str:
        """For a sentence."""
        if not self.by_layer:
            return "a state of one size in every layer, and no keys and values"
        own = f" (number {', '.join(map(str, self.cut))}; the others keep their own)"
        return (
            f"{self.mean:g} tokens kept a head, mean over {len(self.by_layer)} layers"
            + (own if self.cut else "")
            + (f", {self.most} at most" if self.most != self.mean else "")
        )


def kept_tokens(cache: Any) -> KeptTokens:
    """What a cache holds of the layers that a policy may cut, counted from its tensors."""
    full = [isinstance(layer, KeptLayer) or type(layer) is DynamicLayer for layer in cache.layers]
    counted = [number for number, one in enumerate(full) if one]
    if not counted:
        held = [getattr(layer, "keys", None) for layer in cache.layers]
        counted = [number for number, keys in enumerate(held) if keys is not None]
    layers = [cache.layers[number] for number in counted]
    by_layer = tuple(
        int(layer.places.shape[-1] if isinstance(layer, KeptLayer) else layer.keys.shape[-2])
        for layer in layers
    )
    return KeptTokens(by_layer, () if len(by_layer) == len(full) else tuple(counted))


PARTS = 16
"""Parts of a context, of which each layer says how much it kept."""


def kept_places(cache: Any, count: int) -> tuple[int, ...]:
    """Percent of each part of a context that a head keeps, mean over rows and heads: `PARTS` of
    every layer, one layer after the other. A layer with a window of its own keeps the latest; one
    with a state in place of tokens keeps none.

    count: tokens of the context, all of them read
    """
    found: list[int] = []
    for layer in cache.layers:
        if isinstance(layer, KeptLayer):
            places = layer.places
        elif getattr(layer, "keys", None) is not None:
            left = min(count, int(layer.keys.shape[-2]))
            places = torch.arange(count - left, count)[None, None]
        else:
            found += [0] * PARTS
            continue
        heads = places.numel() // max(1, places.shape[-1])
        found += kept_parts(places, count, heads)
    return tuple(found)


def kept_parts(places: torch.Tensor, count: int, heads: int = 1) -> list[int]:
    """Percent of each part of a context that so many heads keep at these places, in the mean."""
    whole = torch.arange(count) * PARTS // count
    sizes = torch.bincount(whole, minlength=PARTS).clamp(min=1) * heads
    kept = torch.bincount((places.flatten() * PARTS // count), minlength=PARTS)
    return [round(share) for share in (100 * kept / sizes).tolist()]


def kept_bytes(cache: Any) -> int:
    """Bytes of the memory behind a cache's keys and values, behind what a policy notes of them, and
    behind the states of linear attention: of a view into a longer tensor all of it counts. Of a
    layer with a window the window alone: what is longer behind it goes with the next token."""
    held: list[Any] = []
    windows = 0
    for layer in cache.layers:
        if isinstance(layer, LinearAttentionLayer):
            held += [*layer.conv_states.values(), *layer.recurrent_states.values()]
        elif isinstance(layer, DynamicSlidingWindowLayer):
            states: tuple[Any, Any] = (layer.keys, layer.values)
            windows += sum(int(one.numel() * one.element_size()) for one in states)
        else:
            held += layer.held() if isinstance(layer, KeptLayer) else [layer.keys, layer.values]
    return windows + sum(state.untyped_storage().nbytes() for state in held if state is not None)
