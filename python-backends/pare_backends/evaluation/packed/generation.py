"""Generation in packed rows: what prompts share is read once, and what has ended takes part no
more.

All sequences of a batch stand in one row of the cache, kept apart by the attention mask: the
prefix, the prompts one after the other, then the generated tokens in the order in which they were
made. Letters: L sequences that still go on, S tokens in the cache, H heads, D features of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from pare_backends.evaluation.packed.forward import (
    additive,
    forward_row,
    keeps_every_token,
    require_finite,
)
from pare_backends.evaluation.packed.packing import Branch, Group, pack

RESERVED_STEPS = 128
"""Tokens of each sequence that the cache has room for; more is made when they are used up."""
PREFIX = -1
"""Owner of the tokens that all sequences look at."""


def greedy(logits: torch.Tensor, _: Sequence[int]) -> list[int]:
    """The likeliest token after each sequence. logits: (L, vocabulary)"""
    return [int(token) for token in logits.argmax(dim=-1).tolist()]


@dataclass(frozen=True)
class Decoding:
    """How sequences go on and when they end."""

    new_tokens: int
    ends: frozenset[int]
    """Tokens that end a sequence; they are part of it."""
    stopped: Callable[[Sequence[int]], bool]
    """Whether what was generated so far holds a stop sequence."""
    where: str
    """What is generated, for a sentence on what went wrong."""
    choose: Callable[[torch.Tensor, Sequence[int]], list[int]] = greedy
    """A token for each row of logits; the other argument numbers the sequences they belong to."""

    def is_over(self, made: Sequence[int]) -> bool:
        """Whether a sequence goes on no more."""
        return made[-1] in self.ends or self.stopped(made)


class ReservedLayer(DynamicLayer):
    """A layer of the cache with room for what will come: appending copies nothing else."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, room: int) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self._places = [torch.empty(0), torch.empty(0)]
        for number, part in enumerate((keys, values)):
            shape = (*part.shape[:-2], part.shape[-2] + room, part.shape[-1])
            self._places[number] = part.new_empty(shape)  # (1, H, S + room, D)
            self._places[number][..., : part.shape[-2], :] = part
        self._show(keys.shape[-2])

    def _show(self, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = (place[..., :length, :] for place in self._places)
        self.keys, self.values = keys, values
        return keys, values

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of all tokens so far, with the new ones at the end."""
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        for place, states in zip(self._places, (key_states, value_states), strict=True):
            place[..., start:end, :] = states
        return self._show(end)


class PackedSequences:
    """Sequences that are generated side by side in one row."""

    def __init__(
        self, model: Any, prefix: int, cache: Any, prompts: Sequence[Sequence[int]], room: int
    ) -> None:
        self._model = model
        self.live = list(range(len(prompts)))
        """Sequences that still go on."""
        self._next = [prefix + len(prompt) for prompt in prompts]
        """Position of each sequence's next token."""
        self._owner = torch.full((prefix,), PREFIX)  # (S,)
        self._cache: Any = None
        self.logits = self._read(prefix, cache, prompts, room)
        """Of the token after each sequence that goes on: (L, vocabulary) float32."""

    def _read(
        self, prefix: int, cache: Any, prompts: Sequence[Sequence[int]], room: int
    ) -> torch.Tensor:
        """Reads the prompts, one row after the other, each after the prefix alone."""
        groups = [Group(tuple(p), (Branch(n, (0,)),)) for n, p in enumerate(prompts)]
        logits: dict[int, torch.Tensor] = {}
        parts: list[list[tuple[torch.Tensor, torch.Tensor]]] = []
        owners = [self._owner]
        for row in pack(groups, max(1024, len(groups[0].context)), prefix):
            found, filled = forward_row(self._model, row, prefix, cache, keep_cache=True)
            if not keeps_every_token(filled):
                raise TypeError("the cache of this model does not keep every token")
            parts.append(
                [(x.keys[..., prefix:, :], x.values[..., prefix:, :]) for x in filled.layers]
            )
            first = len(logits)
            owners.append(torch.tensor([first + group for group in row.group_of]))
            where = {place: index for index, place in enumerate(row.keep)}
            logits.update((request, found[where[places[0]]]) for request, places, _ in row.targets)
            if cache is not None:
                cache.crop(-len(row.tokens))
        self._owner = torch.cat(owners)
        before = [(x.keys, x.values) for x in cache.layers] if cache is not None else None
        self._reserve(_joined(before, parts), room)
        return torch.stack([logits[number] for number in range(len(prompts))])

    def _reserve(self, layers: Sequence[tuple[torch.Tensor, torch.Tensor]], room: int) -> None:
        self._cache = DynamicCache()
        self._cache.layers = [ReservedLayer(keys, values, room) for keys, values in layers]

    def step(self, tokens: Sequence[int]) -> None:
        """Appends a token to each sequence that goes on, in the order of `live`."""
        own = torch.tensor(self.live)
        owner = torch.cat([self._owner, own])
        allowed = (owner[None, :] == PREFIX) | (owner[None, :] == own[:, None])  # (L, S+L)
        device = self._model.device
        output = self._model(
            torch.tensor([list(tokens)], device=device),
            attention_mask=additive(allowed, self._model),
            position_ids=torch.tensor([[self._next[one] for one in self.live]], device=device),
            past_key_values=self._cache,
            use_cache=True,
        )
        self._owner = owner
        for one in self.live:
            self._next[one] += 1
        self.logits = output.logits[0].float()

    def end(self, ended: frozenset[int]) -> None:
        """These sequences go on no more; their tokens stay until `forget`."""
        self.live = [one for one in self.live if one not in ended]

    def forget(self, room: int) -> None:
        """Takes the tokens of ended sequences out of the cache, with room for so many more."""
        kept = torch.tensor([PREFIX, *self.live])
        places = torch.isin(self._owner, kept).nonzero().flatten()
        self._owner = self._owner[places]
        at = places.to(self._model.device)
        layers = self._cache.layers
        self._reserve(
            [(x.keys.index_select(-2, at), x.values.index_select(-2, at)) for x in layers], room
        )


def _joined(
    before: Sequence[tuple[torch.Tensor, torch.Tensor]] | None,
    parts: Sequence[Sequence[tuple[torch.Tensor, torch.Tensor]]],
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The prefix's keys and values, then those of each row, layer by layer."""
    pieces = [*([before] if before is not None else []), *parts]
    return [
        (torch.cat([k for k, _ in layer], dim=-2), torch.cat([v for _, v in layer], dim=-2))
        for layer in zip(*pieces, strict=True)
    ]


def generate_packed(
    model: Any,
    prefix: int,
    cache: Any,
    prompts: Sequence[Sequence[int]],
    decoding: Decoding,
    tell: Callable[[float], None],
) -> list[list[int]]:
    """The tokens after each prompt. `prompts` come after the `prefix` tokens of the cache, each
    with at least one token. `tell` is given how many are done, parts of them counted."""
    made: list[list[int]] = [[] for _ in prompts]
    room = len(prompts) * min(decoding.new_tokens, RESERVED_STEPS)
    sequences = PackedSequences(model, prefix, cache, prompts, room)
    held = len(prompts)  # sequences whose tokens are in the cache
    for left in range(decoding.new_tokens - 1, -1, -1):
        broken = not bool(torch.isfinite(sequences.logits.amax(dim=-1)).all())
        require_finite(broken, decoding.where, model, prompts[0])
        chosen = decoding.choose(sequences.logits, sequences.live)
        for one, token in zip(sequences.live, chosen, strict=True):
            made[one].append(token)
        sequences.end(frozenset(one for one in sequences.live if decoding.is_over(made[one])))
        alive = len(sequences.live)
        tell(len(prompts) - alive * left / decoding.new_tokens)
        if alive == 0 or left == 0:
            break
        if alive * 2 <= held or room < alive:
            room = alive * min(left, RESERVED_STEPS)
            sequences.forget(room)
            held = alive
        room -= alive
        sequences.step([made[one][-1] for one in sequences.live])
    return made
