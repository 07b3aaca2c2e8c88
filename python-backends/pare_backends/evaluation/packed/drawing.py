"""Draws tokens: each generation by random numbers of its own, which depend on the study's seed, the
prompt and the generation's number alone, not on what is drawn beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

LIKELY = 64
"""Tokens that are looked at first: most nuclei hold fewer, and sorting a vocabulary takes long."""
UNTOLD: Mapping[str, float] = {"temperature": 1.0, "top_k": 50, "top_p": 1.0}
"""What transformers takes where neither the task nor the model says it."""


@dataclass(frozen=True)
class Distribution:
    """How a token is drawn: logits over the temperature, then the `top_k` most likely (0: all),
    then the fewest of them that hold `top_p` of the probability, as transformers has it."""

    temperature: float
    top_k: int
    top_p: float


def distribution_of(options: Mapping[str, Any], settings: Any) -> Distribution | None:
    """What these options of a generation and the model's own settings ask for; None: more than a
    `Distribution` can say."""
    if options.get("do_sample") is not True or set(options) - {"do_sample", *UNTOLD}:
        return None
    found: dict[str, float] = {}
    for name, untold in UNTOLD.items():
        said = options[name] if name in options else getattr(settings, name, None)
        found[name] = untold if said is None else float(said)
    if not found["temperature"] > 0 or found["top_k"] < 0 or not 0 < found["top_p"] <= 1:
        return None
    return Distribution(found["temperature"], int(found["top_k"]), found["top_p"])


def seed_of(seed: int, prompt: Sequence[int], number: int) -> int:
    """Of the generation `number` of a prompt, in a study of this seed."""
    text = json.dumps([seed, list(prompt), number])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


class Drawer:
    """The next token of each of several generations, one seed each."""

    def __init__(self, distribution: Distribution, seeds: Sequence[int]) -> None:
        self._distribution = distribution
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, logits: torch.Tensor, live: Sequence[int]) -> list[int]:
        """A token for each row of logits (L, vocabulary); `live` numbers their generations."""
        numbers = [
            torch.rand((), generator=self._generators[one], dtype=torch.float64) for one in live
        ]
        tokens, chances = nucleus(logits, self._distribution)
        reached = chances.cumsum(dim=-1)  # (L, K)
        at = torch.stack(numbers).to(logits.device)[:, None] * reached[:, -1:]
        place = torch.searchsorted(reached, at, right=True)
        last = reached.argmax(dim=-1, keepdim=True)  # the first place that reaches all of it
        return [int(token) for token in tokens.gather(-1, place.minimum(last)).flatten()]


def nucleus(logits: torch.Tensor, distribution: Distribution) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens that may be drawn and their chances, up to a factor a row; both (L, K), by number of
    the token, so that tokens of nearly one chance do not change places by rounding. Tokens that may
    not be drawn have a chance of 0."""
    scores = logits / distribution.temperature
    most = scores.shape[-1]
    size = min(most, distribution.top_k or LIKELY)
    while True:
        values, tokens = scores.topk(size, dim=-1)
        of_all = values if distribution.top_k else scores
        chances = (values - of_all.logsumexp(-1, keepdim=True)).double().exp()
        reached = chances.cumsum(dim=-1)
        whole = bool(distribution.top_k) or size == most
        if whole or bool((reached[:, -1] >= distribution.top_p).all()):
            break
        size = min(most, 8 * size)
    chances = chances.masked_fill(reached - chances >= distribution.top_p, 0)
    order = tokens.argsort(dim=-1)
    return tokens.gather(-1, order), chances.gather(-1, order)
