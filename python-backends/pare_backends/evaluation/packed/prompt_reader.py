"""Keys and values of prompts; what a prompt shares with the one before is not read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pare_backends.evaluation.packed.forward import keeps_every_token
from pare_backends.evaluation.packed.packing import common_prefix

BLOCK = 128
"""Tokens of one forward pass. A whole block is computed from the same tokens in the same shapes,
whichever prompt came before: its keys and values are the same to the last bit, so that no answer
depends on the order of the prompts, nor on where a killed run goes on."""


class PromptReader:
    """Reads prompts of one model and keeps the last one."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._tokens: tuple[int, ...] = ()
        self._cache: Any = None

    def read(self, tokens: Sequence[int]) -> Any:
        """The cache of these tokens, None where there are none. It is given back as it was: what a
        caller appends, it takes away again."""
        wanted = tuple(tokens)
        if not wanted:
            return None
        if wanted == self._tokens:
            return self._cache
        kept = len(common_prefix([wanted, self._tokens])) // BLOCK * BLOCK
        cache: Any = self._cache if kept else None
        if kept:
            cache.crop(kept - len(self._tokens))
        self._tokens, self._cache = (), None  # half a prompt is none, should the model fail
        for start in range(kept, len(wanted), BLOCK):
            block = torch.tensor([wanted[start : start + BLOCK]], device=self._model.device)
            cache = self._model(
                block, past_key_values=cache, use_cache=True, logits_to_keep=1
            ).past_key_values
        if not keeps_every_token(cache):
            raise TypeError("the cache of this model does not keep every token")
        self._tokens, self._cache = wanted, cache
        return cache
