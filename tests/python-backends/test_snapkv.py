"""SnapKV: what it keeps is what kvpress keeps, or its definition where kvpress has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from oracles.kept_positions import model_of, tokens

from pare_backends.cache.reading import read_context
from pare_backends.failures import CallFailure
from pare_backends.kv_cache.snapkv import Params, SnapKV, attach

ORACLE = json.loads((Path(__file__).parent / "oracles" / "kept_positions.json").read_text())


def kept(model: Any, text: torch.Tensor) -> list[list[list[int]]]:
    """Places by layer and head."""
    return [layer.places[0].tolist() for layer in read_context(model, text).layers]


@pytest.mark.parametrize("architecture", ["llama", "qwen3"])
@pytest.mark.parametrize(
    ("press", "params"),
    [
        ("snapkv 16 5 60", Params(budget=60, window=16, kernel=5)),
        ("snapkv 4 9 30", Params(budget=30, window=4, kernel=9)),
    ],
)
def test_it_keeps_what_kvpress_keeps(press: str, params: Params, architecture: str) -> None:
    found = kept(attach(model_of(architecture), params), tokens())
    wanted = ORACLE["kept"][architecture][press]
    assert [[" ".join(map(str, head)) for head in layer] for layer in found] == wanted


@torch.no_grad()
@pytest.mark.parametrize("sinks", [0, 3])
def test_it_pools_by_the_largest_too_and_keeps_a_share_of_each_prompt(sinks: int) -> None:
    window, kernel, share = 6, 3, 0.3
    params = Params(
        budget_in="share", share=share, sinks=sinks, window=window, kernel=kernel, pool="max"
    )
    found = kept(attach(model_of("llama"), params), tokens())
    reference = model_of("llama")
    reference.set_attn_implementation("eager")
    attentions = reference(tokens(), output_attentions=True).attentions
    count = tokens().shape[1]
    for layer, weights in enumerate(attentions):
        for head in range(2):
            rows = weights[0, 3 * head : 3 * head + 3, -window:]  # query heads of the group
            paid = rows.sum(1).mean(0)[: count - window].tolist()
            half = kernel // 2
            scores = [max(paid[max(0, i - half) : i + half + 1]) for i in range(count - window)]
            room = int(share * count) - window - sinks
            places = range(sinks, count - window)
            best = sorted(places, key=lambda place: -scores[place])[:room]
            always = [*range(sinks), *range(count - window, count)]
            assert found[layer][head] == sorted([*best, *always])


def test_a_short_prompt_is_kept_whole() -> None:
    own = attach(model_of("llama"), Params(budget=60, window=16))
    assert kept(own, tokens()[:, :60]) == [[list(range(60))] * 2] * 3
    assert kept(own, tokens()[:, :5]) == [[list(range(5))] * 2] * 3
    shared = attach(model_of("llama"), Params(budget_in="share", share=0.01, sinks=2, window=16))
    assert kept(shared, tokens()[:, :10]) == [[list(range(10))] * 2] * 3
    assert kept(shared, tokens()) == [[[0, 1, *range(104, 120)]] * 2] * 3


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            Params(budget=32, window=30, sinks=2),
            "Cannot keep 32 tokens: 2 sinks and a window of 30",
        ),
        (Params(kernel=4), "Cannot pool over 4 tokens: kernel must be odd"),
    ],
)
def test_knobs_that_do_not_go_together_are_refused(params: Params, said: str) -> None:
    with pytest.raises(CallFailure, match=said):
        SnapKV(params)
