"""Prompts that are read once for several cache policies: nearly all of a long prompt's time is its
reading, which is the same whatever is kept of it afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.cache.attach import KeepsAll, running_with
from pare_backends.cache.kept import kept_bytes, kept_tokens
from pare_backends.cache.policy import ByPlace, CachePolicy, chooses_by_content, policy_of
from pare_backends.cache.reading import read_contexts
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

    @classmethod
    def of(cls, cache: Any, context: torch.Tensor) -> Kept:
        """context: (B, T) int64, as it was read"""
        rows, count = context.shape
        if count == 0:
            return cls(0, 0.0, 0)
        return cls(count, kept_tokens(cache).mean, kept_bytes(cache) // rows)


class WholeContexts:
    """What models keep of contexts that cut no cache by what they read, so that no cache has to be
    made to know: all of it, or what a policy by places sees."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._layers: list[tuple[int, int | None]] | None = None

    def kept(self, count: int) -> Kept:
        """Of a context of so many tokens."""
        if count == 0:
            return Kept(0, 0.0, 0)
        if self._layers is None:
            self._layers = _bytes_a_token(self._model)
        policy, seen = policy_of(self._model), count
        if isinstance(policy, ByPlace):
            import torch

            seen = int(policy.sees(torch.tensor([count - 1]), torch.arange(count)).sum())
        held = [seen if most is None else min(seen, most) for _, most in self._layers]
        total = sum(tokens * size for tokens, (size, _) in zip(held, self._layers, strict=True))
        return Kept(count, sum(held) / len(held), total)


def _bytes_a_token(model: Any) -> list[tuple[int, int | None]]:
    """Bytes of one token in each layer's cache, and the most tokens that it holds; None: all."""
    import torch
    from transformers.cache_utils import DynamicCache

    token = torch.zeros((1, 1), dtype=torch.int64, device=model.device)
    whole = running_with(model, KeepsAll()) if chooses_by_content(model) else nullcontext()
    with torch.no_grad(), whole:
        cache = model(token, past_key_values=DynamicCache(config=model.config)).past_key_values
    found = []
    for layer in cache.layers:
        window = getattr(layer, "sliding_window", None)
        size = sum(state.numel() * state.element_size() for state in (layer.keys, layer.values))
        # One more is read beside those that a window keeps.
        found.append((size, None if window is None else max(1, window - 1)))
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
        started = time.perf_counter()
        policies = [policy, *(one.policy for one in others)]
        cache, *caches = read_contexts(self.model, policies, context)
        reading = time.perf_counter() - started
        for other in others:
            with suppress(CallFailure), running_with(self.model, other.policy):
                said = _answered(then, caches.pop(0), context, reading)
                _keep(other.answers, asked, said)
        said = _answered(then, cache, context, reading)
        _keep(self.answers, asked, said)
        return said

    def _fitting(self, others: list[Beside], context: torch.Tensor) -> list[Beside]:
        """As many of them as fit a half of the free memory if each kept all that is read; the
        rest read for themselves, and for others, in their own evaluations."""
        if not others:
            return others
        rows, count = context.shape
        each = max(1, rows * WholeContexts(self.model).kept(count).bytes)
        return others[: int(_free_bytes(self.model) / 2 / each)]


def _free_bytes(model: Any) -> int:
    """Of the memory in which a model's cache lies."""
    import torch

    if model.device.type == "cuda":
        return int(torch.cuda.mem_get_info(model.device)[0])
    return memory_bytes()[1]


def _answered(
    then: Callable[[Any], Any], cache: Any, context: torch.Tensor, reading: float
) -> Said:
    kept = Kept.of(cache, context)  # before `then` reads on in it
    started = time.perf_counter()
    answer = then(cache)
    return Said(answer, kept, reading + time.perf_counter() - started)


def _keep(answers: Answers, asked: Any, said: Said) -> None:
    answers.keep(asked, [said.answer, astuple(said.kept)], said.seconds)
