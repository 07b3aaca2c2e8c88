"""Several drawn generations of one prompt, side by side and of that prompt alone.

Which tokens are drawn depends on the study's seed, the prompt and the generation's number
(`drawing.py`). The logits' last bits depend on what stands beside them in one pass, so generations
are always made in the same company: 1 to 10 of a prompt, 11 to 20, and so on. A run that was killed
goes on with the first ten that were not finished, and a study with twenty a problem has the very
same first ten as one with ten.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from lm_eval.models.utils import (
    handle_stop_sequences,
    normalize_gen_kwargs,
    postprocess_generated_text,
)

from pare_backends.evaluation.packed.drawing import Distribution, Drawer, seed_of

TOGETHER = 10
"""Generations of a prompt that are made at once."""


class DrawingModel(Protocol):
    """What is asked of the model that draws, a `PackedLM`; lm-eval gives most of it no types."""

    @property
    def answers(self) -> Any: ...

    @property
    def decode(self) -> Any: ...

    @property
    def decode_packed(self) -> Any: ...

    @property
    def decoding(self) -> Any: ...

    @property
    def device(self) -> Any: ...

    @property
    def drawn_packed(self) -> Any: ...

    @property
    def eot_token_id(self) -> Any: ...

    @property
    def max_gen_toks(self) -> Any: ...

    @property
    def max_length(self) -> Any: ...

    @property
    def note_seconds(self) -> Any: ...

    @property
    def tok_batch_encode(self) -> Any: ...

    @property
    def tok_decode(self) -> Any: ...

    @property
    def truncation(self) -> Any: ...


@dataclass(frozen=True)
class Draws:
    """What lm-eval's request asks for."""

    prompt: tuple[int, ...]
    new_tokens: int
    until: list[str]
    options: dict[str, Any]
    seed: int

    def key(self, numbers: range) -> list[Any]:
        """What the generations of these numbers depend on."""
        asked = [list(self.prompt), self.new_tokens, self.until, self.options, self.seed]
        return ["drawn", *asked, numbers.start, len(numbers)]

    def seeds(self, numbers: range) -> list[int]:
        return [seed_of(self.seed, self.prompt, number) for number in numbers]


def sample_until(
    model: DrawingModel, requests: Sequence[Any], report_done: Callable[[int], None]
) -> list[str]:
    """A text for each of lm-eval's requests; equal ones are drawn together. `seed` in their options
    is the seed of all; `report_done(n)` is told how many are new."""
    texts = [""] * len(requests)
    together: dict[str, list[int]] = {}
    for number, request in enumerate(requests):
        together.setdefault(json.dumps(request.args), []).append(number)
    for places in together.values():
        context, options = requests[places[0]].args
        draws = _read(model, context, options)
        seconds = 0.0
        for start in range(0, len(places), TOGETHER):
            some = places[start : start + TOGETHER]
            made, took = _draw(model, draws, range(start, start + len(some)))
            seconds += took
            for place, tokens in zip(some, made, strict=True):
                text = model.tok_decode(tokens)
                texts[place] = postprocess_generated_text(text, draws.until, None)
            report_done(len(some))
        model.note_seconds(context, seconds)
    return texts


def _read(model: DrawingModel, context: str, asked: dict[str, Any]) -> Draws:
    options = normalize_gen_kwargs(asked, model.max_gen_toks)
    until = handle_stop_sequences(
        options.pop("until"), model.tok_decode(model.eot_token_id, skip_special_tokens=False)
    )
    new_tokens, seed = options.pop("max_gen_toks"), options.pop("seed", 0)
    tokens, _ = model.tok_batch_encode(
        [context], left_truncate_len=model.max_length - new_tokens, truncation=model.truncation
    )
    return Draws(tuple(tokens[0].tolist()), new_tokens, until, options, seed)


def _draw(model: DrawingModel, draws: Draws, numbers: range) -> tuple[list[list[int]], float]:
    """The tokens of the generations of these numbers, and the seconds that they took."""
    distribution = model.drawn_packed(draws.prompt, draws.options)

    def make() -> list[list[int]]:
        if distribution is not None:
            return _packed(model, draws, numbers, distribution)
        return _padded(model, draws, numbers)

    return model.answers.once(draws.key(numbers), len(numbers), make)


def _packed(
    model: DrawingModel, draws: Draws, numbers: range, distribution: Distribution
) -> list[list[int]]:
    """In packed rows: the prompt but for its last token is read once, for all of them."""
    drawer = Drawer(distribution, draws.seeds(numbers))
    decoding = model.decoding(draws.new_tokens, draws.until, drawer)
    return model.decode_packed(draws.prompt[:-1], [draws.prompt] * len(numbers), decoding)


def _padded(model: DrawingModel, draws: Draws, numbers: range) -> list[list[int]]:
    """By transformers' own search, which draws all of them from one stream of random numbers."""
    length = len(draws.prompt)
    with torch.random.fork_rng():
        torch.manual_seed(draws.seeds(numbers)[0])
        drawn = model.decode(
            torch.tensor([draws.prompt] * len(numbers), device=model.device),
            length + draws.new_tokens,
            draws.until,
            attention_mask=torch.ones((len(numbers), length), device=model.device).long(),
            **draws.options,
        )
    return [row[length:] for row in drawn.tolist()]
