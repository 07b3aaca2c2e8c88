"""Presses of the library kvpress as cache policies. Letters as in policy.py.

A press is called as kvpress calls it, after a layer's attention, with what the layer was given.
What stays is taken from the keys that it leaves, never from the ratio that it was asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from pare_backends.cache.attach import attach_policy
from pare_backends.cache.attention import NAME, attention
from pare_backends.cache.codes import Coder
from pare_backends.cache.policy import Seen, When
from pare_backends.cache.scoring import attention_rows
from pare_backends.failures import CallFailure

HEARD = "pare_heard_of_attention"
"""Of a model: what its attention was last called with."""
ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, OSError),
    *(RuntimeError, TypeError, ValueError),
)
"""What a press says where it cannot work on a model or a prompt."""


class Heard:
    """The call of an attention layer that is under way."""

    def __init__(self) -> None:
        self.module: Any = None
        self.named: dict[str, Any] = {}

    def __call__(self, module: Any, _: Any, named: dict[str, Any]) -> None:
        self.module, self.named = module, named


def heard_of(model: Any) -> Heard:
    """What hears of every call of a model's attention layers, from now on.

    raises: CallFailure "invalid" where kvpress would find no attention layers
    """
    found: Heard | None = getattr(model, HEARD, None)
    if found is not None:
        return found
    heard = Heard()
    text = getattr(model, "model", None)
    text = getattr(text, "language_model", text)
    layers = [getattr(one, "self_attn", None) for one in getattr(text, "layers", ())]
    if not layers or None in layers or not hasattr(text, "rotary_emb"):
        raise CallFailure(
            "invalid",
            f"Cannot press {type(model).__name__}: kvpress looks for attention layers and a rotary "
            "embedding where it has none",
            hint="Take a method of pare's own, such as snapkv",
        )
    for layer in layers:
        layer.rotary_emb = text.rotary_emb  # type: ignore[union-attr]
        layer.register_forward_pre_hook(heard, with_kwargs=True)  # type: ignore[union-attr]
    setattr(model, HEARD, heard)
    return heard


class Pressed:
    """Keeps what a press keeps. It decides once, after the prompt."""

    when: When = "after_prompt"
    coder: Coder | None = None

    def __init__(self, press: Any, label: str) -> None:
        self.press, self._label = press, label
        self.heard: Heard | None = None
        self.observes = any(type(one).__name__ == OBSERVES for one in with_inner(press))

    def keep(self, seen: Seen) -> torch.Tensor:
        """The tokens whose keys the press leaves as they are. raises: CallFailure "invalid" where
        it cannot work here, or leaves something else than some of the tokens"""
        if self.heard is None:
            raise TypeError("a press hears of the model that it is attached to")
        module = self.heard.module
        # Copies: a press may write into what it is given.
        layer = SimpleNamespace(keys=seen.keys.clone(), values=seen.values.clone())
        named = {
            **self.heard.named,
            "past_key_values": SimpleNamespace(layers={module.layer_idx: layer}),
            "cache_position": torch.arange(seen.read, device=seen.keys.device),
        }
        attention = torch.cat(list(attention_rows(seen)), dim=-2) if self.observes else None
        module.masked_key_indices = None
        try:
            self.press.forward_hook(module, [], named, [None, attention])
        except ERRORS as error:
            raise self._refused(f"{type(error).__name__}: {error}", seen) from error
        if getattr(module, "masked_key_indices", None) is not None:
            module.masked_key_indices = None
            raise self._refused("it hides keys of some heads and keeps them all", seen)
        kept = kept_by(seen, layer.keys, layer.values)
        if kept is None:
            raise self._refused("what it leaves are not some of the tokens as they were", seen)
        return kept

    def _refused(self, why: str, seen: Seen) -> CallFailure:
        return CallFailure(
            "invalid", f"Cannot press a prompt of {seen.read} tokens with {self._label}: {why}"
        )

    def words(self) -> str:
        """As `CachePolicy.words`."""
        return f"the tokens that {self._label} leaves"


OBSERVES = "ObservedAttentionPress"
"""The press that is given all of the attention, which transformers' fast ones do not keep."""


def with_inner(press: Any) -> Iterator[Any]:
    """A press and those that it goes by, with their bases' names."""
    yield press
    inner = [getattr(press, "press", None), *(getattr(press, "presses", None) or [])]
    for one in inner:
        if one is not None:
            yield from with_inner(one)


def kept_by(seen: Seen, keys: Any, values: Any) -> torch.Tensor | None:
    """Which tokens a layer's keys and values are; None: they are other ones.

    keys, values: (B, K, N, D); returns: (B, K, S) bool
    """
    if keys.shape[:2] != seen.keys.shape[:2] or keys.shape[-1] != seen.keys.shape[-1]:
        return None
    marks, own = _marks(seen.keys), _marks(keys)
    ordered, order = marks.sort(dim=-1)
    at = torch.searchsorted(ordered, own).clamp(max=marks.shape[-1] - 1)
    places = order.gather(-1, at)  # (B, K, N)
    wide = places[..., None]
    for given, left in ((seen.keys, keys), (seen.values, values)):
        if not torch.equal(given.gather(-2, wide.expand(*places.shape, given.shape[-1])), left):
            return None
    kept = torch.zeros_like(marks, dtype=torch.bool).scatter(-1, places, True)
    return kept if int(kept.sum()) == places.numel() else None


def _marks(states: torch.Tensor) -> torch.Tensor:
    """A whole number of each vector, by its bits: equal ones have equal numbers. returns: (B, K, S)
    int64 of (B, K, S, D)"""
    bits = states.contiguous().view(
        {2: torch.int16, 4: torch.int32, 8: torch.int64}[states.element_size()]
    )
    draw = torch.Generator().manual_seed(1)
    factors = torch.randint(-(2**62), 2**62, (states.shape[-1],), generator=draw)
    return (bits.long() * factors.to(states.device)).sum(dim=-1)  # wraps, the same in every place


def attach_press(model: Any, press: Pressed) -> Any:
    """The model, which keeps of a prompt what the press keeps from now on."""
    # kvpress wraps every attention that is registered when it is imported, ours too, to hide keys.
    ALL_ATTENTION_FUNCTIONS[NAME] = attention
    press.heard = heard_of(model)
    try:
        press.press.post_init_from_model(model)
    except ERRORS as error:
        raise CallFailure(
            "invalid", f"Cannot prepare {press.words()} for the model: {error}"
        ) from error
    logging.getLogger("kvpress").setLevel(logging.ERROR)
    return attach_policy(model, press)
