"""CircuitKV: walks back along attention, their expectation, and how much of a choice is chance."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracles.kept_by_definition import attention
from oracles.kept_positions import model_of, tokens

from pare_backends.cache.policy import Seen
from pare_backends.cache.reading import read_context
from pare_backends.cache.walks import Walks, expected_visits, walked_visits
from pare_backends.kv_cache.circuitkv import CircuitKV, Params, attach

SINKS, WINDOW = 4, 8


def drawn(count: int, heads: int = 2, seed: int = 3) -> Seen:
    """A prompt of two texts with sharp attention, two query heads a head of keys."""
    draw = torch.Generator().manual_seed(seed)
    queries = torch.randn(2, 2 * heads, count, 16, generator=draw, dtype=torch.float64)
    keys = torch.randn(2, heads, count, 16, generator=draw, dtype=torch.float64)
    places = torch.arange(count).expand(2, heads, count)
    return Seen(0, 2, 2 * queries, keys, keys, 0.25, places, count, {})


def chances(seen: Seen, row: int, temperature: float) -> torch.Tensor:
    """Of a step from each token to each other, written out. returns: (T, T)"""
    maps = torch.tensor(
        [
            attention(seen.queries[row, head].tolist(), seen.keys[row, head // 2].tolist(), 0.25)
            for head in range(seen.queries.shape[1])
        ],
        dtype=torch.float64,
    )
    most, sums = maps.amax(0), maps.sum((0, 1))
    count = len(most)
    steps = torch.zeros(count, count, dtype=torch.float64)
    for token in range(1, count):
        from_there = most[token] if token >= count - WINDOW else sums
        steps[token, :token] = from_there[:token] ** (1 / temperature)
        steps[token] /= steps[token].sum()
    return steps


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_the_expectation_is_that_of_powers_of_its_steps(temperature: float) -> None:
    seen = drawn(40)
    found = expected_visits(Walks.along(seen, WINDOW, temperature, SINKS), 6)
    for row in range(2):
        steps = chances(seen, row, temperature)
        steps[:SINKS] = 0  # a walk ends there
        wanted, power = torch.zeros(40, dtype=torch.float64), torch.eye(40, dtype=torch.float64)
        for _ in range(6):
            power = power @ steps
            wanted += power[-1]
        assert torch.allclose(found[row], wanted, atol=1e-5)


def test_walks_tend_to_their_expectation_as_they_grow_in_number() -> None:
    walks = Walks.along(drawn(128), WINDOW, 1.0, SINKS)
    wanted = expected_visits(walks, 20)
    apart = []
    for walkers in (100, 1_600, 25_600):
        found = walked_visits(walks, walkers, 20, torch.Generator().manual_seed(1))
        apart.append(float((found - wanted).abs().sum(-1).max()))
    # As the root of their number, which is 4 times greater each time.
    for fewer, more in itertools.pairwise(apart):
        assert 2.5 < fewer / more < 6.5, apart


def overlap(walkers: int, seeds: int = 8) -> float:
    """Share of the 128 of 512 tokens that walks choose and their expectation chooses."""
    seen = drawn(512, heads=1)
    budget: dict[str, Any] = {"budget": 128, "sinks": SINKS, "window": WINDOW}
    wanted = CircuitKV(Params(**budget)).keep(seen)[:, 0]
    shares = []
    for seed in range(seeds):
        knobs = {**budget, "mode": "walk", "num_walkers": walkers, "walk_seed": seed}
        found = CircuitKV(Params(**knobs)).keep(seen)[:, 0]
        chosen = slice(SINKS, 512 - WINDOW)
        both = (found & wanted)[:, chosen].sum().item()
        shares.append(both / wanted[:, chosen].sum().item())
    return sum(shares) / seeds


def test_what_a_hundred_walks_choose_is_much_chance() -> None:
    hundred, many = overlap(100), overlap(25_600, seeds=2)
    assert 0.45 < hundred < 0.75 and many > 0.9


def test_walks_are_the_same_for_the_same_seed_alone_and_in_a_batch() -> None:
    knobs = {"budget": 40, "sinks": 4, "window": 8, "mode": "walk"}
    rows = torch.cat([tokens(), tokens().flip(1)])

    def places(seed: int, text: torch.Tensor) -> list[torch.Tensor]:
        model = attach(model_of("llama"), Params(**knobs, walk_seed=seed))
        return [layer.places for layer in read_context(model, text).layers]

    first, again, other, alone = (
        places(*one) for one in ((0, rows), (0, rows), (1, rows), (0, rows[1:]))
    )
    for number, layer in enumerate(first):
        assert torch.equal(layer, again[number]) and torch.equal(layer[1:], alone[number])
        assert torch.equal(layer[:, 0], layer[:, 1]), "one set for all heads"
        assert not torch.equal(layer, other[number])
