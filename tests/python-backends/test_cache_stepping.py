"""Methods that go on after the prompt: when they let go, and that parts change nothing."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from oracles.kept_positions import model_of, tokens

from pare_backends.cache.kept import kept_tokens
from pare_backends.cache.policy import chooses_by_content
from pare_backends.cache.reading import follow, read_context

METHODS = {"h2o": {"recent_share": 0.5}, "tova": {}, "knorm": {}}
BUDGET = 20


def attached(method: str, **knobs: Any) -> Any:
    module = importlib.import_module(f"pare_backends.kv_cache.{method}")
    given = {"budget": BUDGET, "sinks": 1, "window": 2, **METHODS[method], **knobs}
    return module.attach(model_of("llama"), module.Params(**given))


def stepped(model: Any, text: torch.Tensor, lengths: list[int]) -> tuple[torch.Tensor, Any]:
    """Logits of every pass over so many tokens each, and the cache."""
    logits, cache = [], None
    for part in text.split(lengths, dim=1):
        last = {} if cache is not None or part.shape[1] == 1 else {"logits_to_keep": 1}
        if not chooses_by_content(model):
            last = {}
        out = model(part, past_key_values=cache, use_cache=True, **last)
        cache = out.past_key_values
        logits.append(out.logits)
    return torch.cat(logits, dim=1), cache


@torch.no_grad()
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("method", METHODS)
def test_token_by_token_a_prompt_reads_as_in_one_pass_of_any_parts(method: str, every: int) -> None:
    text = tokens()[:, :60]
    one_by_one, held = stepped(
        attached(method, evicts="each_step", evict_interval=every), text, [1] * 60
    )
    model = attached(method, evicts="each_token", evict_interval=every)
    assert not chooses_by_content(model)
    for lengths in ([60], [33, 1, 26], [10, 50]):
        logits, cache = stepped(model, text, lengths)
        assert torch.allclose(logits, one_by_one, atol=1e-9)
        for own, other in zip(cache.layers, held.layers, strict=True):
            assert torch.equal(own.places, other.places)
            assert torch.allclose(own.keys, other.keys, atol=1e-9)
    assert torch.allclose(model(text, use_cache=False).logits, one_by_one, atol=1e-9)
    whole = model_of("llama")(text).logits
    assert torch.allclose(one_by_one[:, :BUDGET], whole[:, :BUDGET], atol=1e-9)
    assert float((one_by_one - whole)[:, BUDGET + every :].abs().max()) > 0.05
    rows = torch.cat([text, text.flip(1)])
    assert torch.allclose(model(rows).logits[1:], model(text.flip(1)).logits, atol=1e-9)


@torch.no_grad()
@pytest.mark.parametrize("method", METHODS)
def test_it_lets_go_once_at_each_step_or_every_few_steps(method: str) -> None:
    text = tokens()

    def lengths(**knobs: Any) -> list[int]:
        model = attached(method, **knobs)
        cache, found = read_context(model, text[:, :50]), []
        for place in range(50, 60):
            model(text[:, place : place + 1], past_key_values=cache)
            assert len(set(kept_tokens(cache).by_layer)) == 1
            found.append(kept_tokens(cache).most)
        return found

    assert lengths(evicts="after_prompt") == list(range(BUDGET + 1, BUDGET + 11))
    assert lengths(evicts="each_step") == [BUDGET] * 10
    assert lengths(evicts="each_step", evict_interval=4) == [21, 22, 23, 20, 21, 22, 23, 20, 21, 22]


@pytest.mark.parametrize("method", METHODS)
def test_when_it_decides_changes_what_is_said(method: str) -> None:
    text, said = tokens()[:, :80], []
    for evicts in ("after_prompt", "each_step", "each_token"):
        model = attached(method, evicts=evicts)
        said.append(follow(model, read_context(model, text[:, :50]), text[:, 50:]))
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert float((said[one] - said[other]).abs().max()) > 0.01
    assert torch.allclose(said[0][:, 0], said[1][:, 0], atol=1e-9), "the prompt is cut alike"


def test_a_short_prompt_is_remembered_by_what_it_was_paid() -> None:
    """Sums begin with the prompt, also where nothing had to be let go of yet."""
    text = tokens()
    model = attached("h2o", evicts="each_step")
    cache = read_context(model, text[:, : BUDGET - 5])
    sums = cache.layers[0].marks["sums"]
    assert sums.shape == (1, 2, BUDGET - 5)
    # Each of the 15 tokens paid 1 in all, in each of two heads.
    assert torch.allclose(sums.sum(-1), torch.full((1, 2), BUDGET - 5.0), atol=1e-5)
