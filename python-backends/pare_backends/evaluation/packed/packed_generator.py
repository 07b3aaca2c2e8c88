"""Which generations are made in packed rows, and what their prompts share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from pare_backends.checkpoint.generation_settings import ids_of, said_settings
from pare_backends.evaluation.packed.drawing import Distribution, distribution_of
from pare_backends.evaluation.packed.forward import keeps_every_token
from pare_backends.evaluation.packed.generation import Decoding, generate_packed
from pare_backends.evaluation.packed.packing import SHORTEST_PREFIX, common_prefix
from pare_backends.evaluation.packed.prompt_reader import PromptReader

ROW_TOKENS = 8192
"""Tokens in the cache, but for the prefix, that sequences of one row may come to: every sequence
looks at all of them, so more would cost more than the reading of the weights that they share."""
USUAL_TOKENS = 256
"""Of a generation: most end before their limit."""
GREEDY = {"attention_mask", "do_sample", "temperature"}
"""Options of a generation that packed rows know; temperature is told with do_sample False."""


class PackedGenerator:
    """Generations of one model; keeps the prefix of the prompts before."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._prefix: tuple[int, ...] = ()
        self._reader = PromptReader(model)

    def makes(self, options: Mapping[str, Any]) -> bool:
        """Whether this generation is a plain greedy search, as the model's own settings have it."""
        plain = set(options) <= GREEDY and options.get("do_sample") is False
        return plain and self._has_neutral_settings()

    def distribution(self, options: Mapping[str, Any]) -> Distribution | None:
        """By what a drawn generation with these options is drawn; None: packed rows cannot."""
        if not self._has_neutral_settings():
            return None
        return distribution_of(options, self._model.generation_config)

    def _has_neutral_settings(self) -> bool:
        settings = getattr(self._model, "generation_config", None)
        if settings is None:
            return False
        return not said_settings(settings)

    def keeps_tokens(self) -> bool:
        """Whether the model's cache can be cut and joined by tokens."""
        with torch.no_grad():
            one = torch.zeros((1, 1), dtype=torch.long, device=self._model.device)
            return keeps_every_token(self._model(one, use_cache=True).past_key_values)

    @property
    def ends(self) -> frozenset[int]:
        """Tokens at which the model's own generation ends."""
        return frozenset(ids_of(self._model.generation_config.eos_token_id))

    def prefix_of(self, prompts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """What all prompts begin with: the prefix of those before where it fits."""
        shortest = min(len(prompt) for prompt in prompts)
        size = len(self._prefix)
        if 0 < size < shortest and all(prompt[:size] == self._prefix for prompt in prompts):
            return self._prefix
        shared = common_prefix(prompts)[: shortest - 1]
        if len(prompts) < 2 or len(shared) < SHORTEST_PREFIX:
            return ()
        self._prefix = shared
        return shared

    def generate(
        self,
        prefix: tuple[int, ...],
        prompts: Sequence[tuple[int, ...]],
        decoding: Decoding,
        tell: Callable[[float], None],
    ) -> list[list[int]]:
        """The tokens after each prompt, all of which begin with the prefix."""
        cache = self._reader.read(prefix)
        rest = [prompt[len(prefix) :] for prompt in prompts]
        made: list[list[int]] = []
        for row in _rows(rest, decoding.new_tokens):
            before = len(made)
            made += generate_packed(
                self._model,
                len(prefix),
                cache,
                row,
                decoding,
                lambda done, before=before: tell(before + done),  # type: ignore[misc]
            )
        return made


def _rows(prompts: Sequence[tuple[int, ...]], new_tokens: int) -> list[list[tuple[int, ...]]]:
    """The prompts in their order, so many a row as its tokens allow."""
    rows: list[list[tuple[int, ...]]] = []
    used = 0
    for prompt in prompts:
        own = len(prompt) + min(new_tokens, USUAL_TOKENS)
        if not rows or used + own > ROW_TOKENS:
            rows.append([])
            used = 0
        rows[-1].append(prompt)
        used += own
    return rows
