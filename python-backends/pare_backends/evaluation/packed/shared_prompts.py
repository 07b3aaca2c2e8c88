"""Prompts that are read once for several cache policies: nearly all of a long prompt's time is its
reading, which is the same whatever is kept of it afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import astuple, dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pare_backends.cache.attach import KeepsAll, running_with
from pare_backends.cache.kept import (
    KeptLayer,
    kept_bytes,
    kept_parts,
    kept_places,
    kept_tokens,
)
from pare_backends.cache.policy import (
    ByPlace,
    CachePolicy,
    chooses_by_content,
    policy_of,
    shares_prompts,
)
from pare_backends.cache.reading import ContextRead, read_contexts
from pare_backends.evaluation.answers import Answers
from pare_backends.failures import CallFailure
from pare_backends.machine import memory_bytes

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Beside:
    """Another setting of the same weights, whose answers are kept for its own evaluation."""

    policy: CachePolicy
    answers: Answers


@dataclass(frozen=True)
class Kept:
    """What a policy kept of the contexts that were read together, of each of them."""

    context_tokens: int
    tokens: float
    """A head's, mean over the layers."""
    bytes: int
    """Of the tensors that hold them."""
    places: Sequence[int] | None = None
    """As `kept_places`; None: all stay, or an earlier version kept the answer."""

    @classmethod
    def of(cls, cache: Any, context: torch.Tensor) -> Kept:
        """context: (B, T) int64, as it was read"""
        rows, count = context.shape
        if count == 0:
            return cls(0, 0.0, 0)
        tokens = kept_tokens(cache).mean
        places = kept_places(cache, count) if tokens < count else None
        return cls(count, tokens, kept_bytes(cache) // rows, places)


class WholeContexts:
    """What models keep of contexts that cut no cache by what they read, so that no cache has to be
    made to know: all of it, or what a policy by places sees."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._layers: list[_LayerBytes] | None = None

    def kept(self, count: int) -> Kept | None:
        """Of a context of so many tokens. None: a policy chooses by content within it, so that only
        its reading would tell."""
        policy, seen = policy_of(self._model), count
        if policy is not None and not shares_prompts(policy) and not isinstance(policy, ByPlace):
            return None
        if count == 0:
            return Kept(0, 0.0, 0)
        if self._layers is None:
            self._layers = _layers_of(self._model)
        places = None
        if isinstance(policy, ByPlace):
            import torch

            at = policy.sees(torch.tensor([count - 1]), torch.arange(count))[0].nonzero()
            seen = int(at.numel())
            if seen < count:
                places = [p for one in self._layers for p in one.parts(at, count)]
        total = sum(one.bytes(seen if one.cut else count) for one in self._layers)
        return Kept(count, float(seen), total, places)


@dataclass(frozen=True)
class _LayerBytes:
    """A layer's bytes after one token, and what each further one adds."""

    first: int
    more: int
    most: int | None
    """Tokens that it keeps at most; None: all."""
    cut: bool
    """A policy may let go of some."""

    def bytes(self, tokens: int) -> int:
        """After so many tokens that it could keep."""
        return self.first + self.more * (self._held(tokens) - 1)

    def parts(self, places: torch.Tensor, count: int) -> list[int]:
        """As `kept_parts`, where what may be cut stays at these places. places: (N, 1)"""
        if self.more == 0:
            return kept_parts(places[:0], count)  # a state in place of tokens
        import torch

        latest = range(count - self._held(count), count)
        return kept_parts(places if self.cut else torch.tensor(latest), count)

    def _held(self, tokens: int) -> int:
        return tokens if self.most is None else min(tokens, self.most)


def _layers_of(model: Any) -> list[_LayerBytes]:
    """Counted from the tensors of a cache of one token and of two."""
    import torch
    from transformers.cache_utils import DynamicCache, DynamicLayer

    whole = running_with(model, KeepsAll()) if chooses_by_content(model) else nullcontext()
    sizes: list[list[int]] = []
    layers: list[Any] = []
    with torch.no_grad(), whole:
        for count in (1, 2):
            tokens = torch.zeros((1, count), dtype=torch.int64, device=model.device)
            cache = DynamicCache(config=model.config)
            layers = model(tokens, past_key_values=cache, logits_to_keep=1).past_key_values.layers
            sizes.append([kept_bytes(SimpleNamespace(layers=[layer])) for layer in layers])
    found = []
    for layer, first, second in zip(layers, *sizes, strict=True):
        window = getattr(layer, "sliding_window", None)
        most = None if window is None else max(1, window - 1)  # the next token is one more
        cut = isinstance(layer, KeptLayer) or type(layer) is DynamicLayer
        found.append(_LayerBytes(first, second - first, most, cut))
    return found


@dataclass(frozen=True)
class Said:
    """An answer from what was kept of a context."""

    answer: Any
    kept: Kept
    seconds: float
    """Of the reading and of the answer, as if it had been asked alone."""


@dataclass(frozen=True)
class SharedPrompts:
    """Answers of a model, whose policy goes by what it reads, and of other policies to the same
    prompts."""

    model: Any
    answers: Answers
    beside: Sequence[Beside] = ()

    def once(
        self, asked: Any, count: int, context: torch.Tensor, then: Callable[[Any], Any]
    ) -> Said:
        """As `Answers.once`, of what is computed by `then` from the cut cache of a context.

        The context is read once; every other policy that has no answer yet cuts a cache of its own
        and its answer is kept under its own name. A failure of another's is left to its own
        evaluation.

        context: (B, T) int64; then: gets a cache and may read on in it
        """
        known = self.answers.known(asked, count)
        if known is not None:
            (answer, kept), seconds = known
            return Said(answer, Kept(*kept), seconds)
        others = self._fitting(
            [one for one in self.beside if one.answers.known(asked) is None], context
        )
        policy = policy_of(self.model)
        if policy is None:
            raise TypeError("a model without a policy keeps all that it reads")
        policies = [policy, *(one.policy for one in others)]
        own, *reads = read_contexts(self.model, policies, context)
        for other in others:
            with suppress(CallFailure), running_with(self.model, other.policy):
                said = _answered(then, reads.pop(0), context)
                _keep(other.answers, asked, said)
        said = _answered(then, own, context)
        _keep(self.answers, asked, said)
        return said

    def _fitting(self, others: list[Beside], context: torch.Tensor) -> list[Beside]:
        """As many of them as fit a half of the free memory if each kept all that is read; the
        rest read for themselves, and for others, in their own evaluations."""
        if not others:
            return others
        rows, count = context.shape
        whole = WholeContexts(self.model).kept(count)
        each = max(1, rows * whole.bytes) if whole is not None else 1
        return others[: int(_free_bytes(self.model) / 2 / each)]


def _free_bytes(model: Any) -> int:
    """Of the memory in which a model's cache lies."""
    import torch

    if model.device.type == "cuda":
        return int(torch.cuda.mem_get_info(model.device)[0])
    return memory_bytes()[1]


def _answered(then: Callable[[Any], Any], read: ContextRead, context: torch.Tensor) -> Said:
    kept = Kept.of(read.cache, context)  # before `then` reads on in it
    started = time.perf_counter()
    answer = then(read.cache)
    return Said(answer, kept, read.seconds + time.perf_counter() - started)


def _keep(answers: Answers, asked: Any, said: Said) -> None:
    answers.keep(asked, [said.answer, astuple(said.kept)], said.seconds)
