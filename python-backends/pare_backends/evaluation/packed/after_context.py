"""Log-likelihoods of what follows a context, read from what a policy kept of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from pare_backends.cache.reading import follow, read_context


def score_after_context(
    model: Any, context: Sequence[int], endings: Sequence[Sequence[int]]
) -> list[tuple[float, bool]]:
    """Of each ending: log-likelihood in nats, and whether greedy decoding gives it. The context but
    for its last token is read once and cut; that token and each ending follow from there, so that
    what is kept counts for an ending of one token too."""
    tokens = torch.tensor([list(context)], device=model.device)
    cache = read_context(model, tokens[:, :-1])
    found = []
    for ending in endings:
        wanted = torch.tensor([list(ending)], device=model.device)
        read = torch.cat([tokens[:, -1:], wanted[:, :-1]], dim=1)
        scores = follow(model, cache, read)[0].float().log_softmax(dim=-1)  # (T, vocabulary)
        chosen = scores.gather(-1, wanted[0, :, None])[:, 0]
        greedy = bool((scores.argmax(dim=-1) == wanted[0]).all())
        found.append((math.fsum(chosen.tolist()), greedy))
    return found
