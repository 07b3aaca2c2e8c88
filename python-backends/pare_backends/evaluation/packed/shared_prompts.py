"""Prompts that are read once for several cache policies: nearly all of a long prompt's time is its
reading, which is the same whatever is kept of it afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.cache.attach import running_with
from pare_backends.cache.policy import CachePolicy, policy_of
from pare_backends.cache.reading import read_contexts
from pare_backends.evaluation.answers import Answers
from pare_backends.failures import CallFailure

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Beside:
    """Another setting of the same weights, whose answers are kept for its own evaluation."""

    policy: CachePolicy
    answers: Answers


@dataclass(frozen=True)
class SharedPrompts:
    """Answers of a model, whose policy goes by what it reads, and of other policies to the same
    prompts."""

    model: Any
    answers: Answers
    beside: Sequence[Beside] = ()

    def once(
        self, asked: Any, count: int, context: torch.Tensor, then: Callable[[Any], Any]
    ) -> tuple[Any, float]:
        """As `Answers.once`, of what is computed by `then` from the cut cache of a context.

        The context is read once; every other policy that has no answer yet cuts a cache of its own
        and its answer is kept under its own name. Seconds are what each would have taken alone:
        the reading and its own part. A failure of another's is left to its own evaluation.

        context: (B, T) int64; then: gets a cache and may read on in it
        """
        known = self.answers.known(asked, count)
        if known is not None:
            return known
        others = [one for one in self.beside if one.answers.known(asked) is None]
        own_policy = policy_of(self.model)
        if own_policy is None:
            raise TypeError("a model without a policy keeps all that it reads")
        started = time.perf_counter()
        policies = [own_policy, *(one.policy for one in others)]
        cache, *caches = read_contexts(self.model, policies, context)
        reading = time.perf_counter() - started
        for other in others:
            with suppress(CallFailure):
                self._keep(other, asked, reading, then, caches.pop(0))
        answer, seconds = _timed(then, cache)
        self.answers.keep(asked, answer, reading + seconds)
        return answer, reading + seconds

    def _keep(
        self, other: Beside, asked: Any, reading: float, then: Callable[[Any], Any], cache: Any
    ) -> None:
        with running_with(self.model, other.policy):
            answer, seconds = _timed(then, cache)
        other.answers.keep(asked, answer, reading + seconds)


def _timed(then: Callable[[Any], Any], cache: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    answer = then(cache)
    return answer, time.perf_counter() - started
