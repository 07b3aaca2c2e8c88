"""Log-likelihoods of what follows a context, read from what a policy kept of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from pare_backends.cache.reading import follow


def context_of(model: Any, context: Sequence[int]) -> torch.Tensor:
    """What is read, and cut, before anything is scored: the context but for its last token, which
    follows with each ending, so that what is kept counts for an ending of one token too.

    returns: (1, T - 1) int64
    """
    return torch.tensor([list(context[:-1])], dtype=torch.int64, device=model.device)


def score_after_context(
    model: Any, last: int, endings: Sequence[Sequence[int]], cache: Any
) -> list[tuple[float, bool]]:
    """Of each ending: log-likelihood in nats, and whether greedy decoding gives it. last: the token
    that the context ends with; cache: of `context_of`, as it was cut"""
    found = []
    for ending in endings:
        wanted = torch.tensor([list(ending)], device=model.device)
        read = torch.tensor([[last, *ending[:-1]]], device=model.device)
        scores = follow(model, cache, read)[0].float().log_softmax(dim=-1)  # (T, vocabulary)
        chosen = scores.gather(-1, wanted[0, :, None])[:, 0]
        greedy = bool((scores.argmax(dim=-1) == wanted[0]).all())
        found.append((math.fsum(chosen.tolist()), greedy))
    return found
