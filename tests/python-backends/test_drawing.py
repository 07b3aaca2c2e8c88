"""Drawn tokens beside the distribution of transformers, and prompts that are read in blocks."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from evaluation_fixtures import random_checkpoint
from transformers import (
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from pare_backends.checkpoint import load_dequantized
from pare_backends.evaluation.packed.drawing import (
    Distribution,
    Drawer,
    distribution_of,
    nucleus,
    seed_of,
)
from pare_backends.evaluation.packed.prompt_reader import BLOCK, PromptReader

VOCABULARY = 700


def some_logits(spread: float) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn((5, VOCABULARY), generator=generator) * spread


def of_transformers(logits: torch.Tensor, how: Distribution) -> torch.Tensor:
    steps = LogitsProcessorList([TemperatureLogitsWarper(how.temperature)])
    if how.top_k:
        steps.append(TopKLogitsWarper(how.top_k))
    if how.top_p < 1:
        steps.append(TopPLogitsWarper(how.top_p))
    none = torch.zeros((len(logits), 1), dtype=torch.long)
    return steps(none, logits).double().softmax(dim=-1)


def of_pare(logits: torch.Tensor, how: Distribution) -> torch.Tensor:
    tokens, chances = nucleus(logits, how)
    found = torch.zeros(logits.shape, dtype=torch.float64)
    return found.scatter(-1, tokens, chances / chances.sum(dim=-1, keepdim=True))


@pytest.mark.parametrize("spread", [0.01, 1.0, 6.0])
def test_chances_are_those_of_transformers(spread: float) -> None:
    """Flat logits reach the whole vocabulary, sharp ones a token or two."""
    logits = some_logits(spread)
    for temperature, top_k, top_p in itertools.product((0.2, 1.0), (0, 3, 50), (0.3, 0.95, 1.0)):
        how = Distribution(temperature, top_k, top_p)
        assert torch.allclose(of_pare(logits, how), of_transformers(logits, how), atol=1e-6), how


def test_a_draw_is_where_its_number_falls() -> None:
    how = Distribution(1.0, 0, 0.95)
    logits = some_logits(2.0)
    drawer = Drawer(how, range(5))
    numbers = [torch.Generator().manual_seed(seed) for seed in range(5)]
    chances = of_transformers(logits, how)
    for _ in range(200):
        for row, token in enumerate(drawer(logits, range(5))):
            number = float(torch.rand((), generator=numbers[row], dtype=torch.float64))
            reached = np.cumsum(chances[row].numpy())
            assert reached[token] >= number - 1e-6
            assert reached[token] - float(chances[row, token]) <= number + 1e-6
            assert chances[row, token] > 0


def test_the_frequencies_of_draws_are_the_chances() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.5, -3.0, 0.9]])
    how = Distribution(0.8, 0, 0.9)
    drawer = Drawer(how, [7])
    draws = 5_000
    seen = Counter(token for _ in range(draws) for token in drawer(logits, [0]))
    for token, chance in enumerate(of_transformers(logits, how)[0].tolist()):
        spread = (draws * chance * (1 - chance)) ** 0.5
        assert abs(seen[token] - draws * chance) <= 4 * spread


def test_a_generation_draws_the_same_whoever_is_beside_it() -> None:
    how, logits = Distribution(1.0, 0, 1.0), some_logits(1.0)
    together, alone = Drawer(how, [11, 12, 13]), Drawer(how, [13])
    for step in range(20):
        live = [0, 1, 2] if step < 5 else [2]
        assert together(logits[live], live)[-1] == alone(logits[[2]], [0])[0]


def test_seeds_differ_by_study_prompt_and_number() -> None:
    seeds = [seed_of(s, p, n) for s, p, n in itertools.product((1, 2), ([3], [3, 4]), (0, 1))]
    assert len(set(seeds)) == 8


def test_what_is_not_said_is_taken_from_the_model_and_then_as_transformers_does() -> None:
    settings = SimpleNamespace(top_k=None, top_p=0.9, temperature=0.5)
    drawn = {"do_sample": True, "temperature": 0.2}
    assert distribution_of(drawn, settings) == Distribution(0.2, 50, 0.9)
    assert distribution_of({**drawn, "top_k": 0}, settings) == Distribution(0.2, 0, 0.9)
    for other in [
        {"temperature": 0.2},
        {**drawn, "temperature": 0.0},
        {**drawn, "top_p": 1.5},
        {**drawn, "typical_p": 0.9},
    ]:
        assert distribution_of(other, settings) is None


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("model")
    return load_dequantized(random_checkpoint(folder))[0]


def parts(cache: Any) -> list[torch.Tensor]:
    return [part for layer in cache.layers for part in (layer.keys, layer.values)]


def test_a_prompt_is_read_the_same_whatever_was_read_before(model: Any) -> None:
    shared = tuple(n % 37 for n in range(BLOCK + 20))
    prompts = [(*shared, *(7 * k % 37 for k in range(n))) for n in (3, 40, BLOCK)] + [
        shared[: BLOCK + 2],
        (7, 8),
    ]
    reader = PromptReader(model)
    with torch.no_grad():
        for prompt in [*prompts, *reversed(prompts)]:
            found = parts(reader.read(prompt))
            alone = parts(PromptReader(model).read(prompt))
            assert all(torch.equal(a, b) for a, b in zip(found, alone, strict=True))
            whole = model(torch.tensor([prompt]), use_cache=True).past_key_values
            for a, b in zip(found, parts(whole), strict=True):
                assert torch.allclose(a, b, atol=1e-4)
        assert reader.read(()) is None


def test_a_prompt_that_shares_blocks_is_not_read_whole(model: Any) -> None:
    read: list[int] = []
    hook = model.register_forward_pre_hook(
        lambda _, args, kwargs: read.append(args[0].shape[1]), with_kwargs=True
    )
    try:
        reader = PromptReader(model)
        shared = tuple(n % 37 for n in range(2 * BLOCK))
        with torch.no_grad():
            reader.read((*shared, 1, 2, 3))
            reader.read((*shared, 4))
            reader.read((*shared, 4))
    finally:
        hook.remove()
    assert read == [BLOCK, BLOCK, 3, 1]
