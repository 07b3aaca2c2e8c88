"""The contract of cache policies: what a layer keeps, and what is read from it afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cache_examples import INTERFACE, LastRow, Pyramid, plain
from oracles.kept_positions import model_of
from oracles.kept_positions import tokens as oracle_tokens
from random_models import write_model

from pare_backends.cache import scoring
from pare_backends.cache.attach import attach_policy
from pare_backends.cache.kept import kept_bytes, kept_tokens
from pare_backends.cache.policy import Seen, policy_of
from pare_backends.cache.reading import follow, read_context
from pare_backends.checkpoint import load_dequantized
from pare_backends.failures import CallFailure
from pare_backends.kv_cache.h2o import H2O, Params
from pare_backends.kv_cache.streaming import SinksAndWindow

CONTEXT, AFTER = 40, 12


def tokens(count: int = CONTEXT + AFTER, rows: int = 1, seed: int = 5) -> torch.Tensor:
    """returns: (rows, count) int64"""
    return torch.from_numpy(np.random.default_rng(seed).integers(3, 60, (rows, count)))


def heavy_hitters(budget: int, window: int) -> H2O:
    """As its paper has it: one token is let go of at each step."""
    return H2O(Params(budget=budget, sinks=0, window=window, evicts="each_step", recent_share=0.0))


def places(cache: Any) -> list[list[str]]:
    """Kept places by layer and head, as the oracle writes them."""
    return [
        [" ".join(str(place) for place in head) for head in layer.places[0].tolist()]
        for layer in cache.layers
    ]


@torch.no_grad()
def by_hand(model: Any, text: torch.Tensor, kept: list[torch.Tensor]) -> torch.Tensor:
    """Logits of what follows a context in a model without a policy, token by token, its cache cut
    by hand. kept: (B, K, N) places of each layer; returns: (B, AFTER, vocabulary)"""
    out = model(text[:, :CONTEXT], use_cache=True)
    cache, logits = out.past_key_values, []
    for layer, at in zip(cache.layers, kept, strict=True):
        index = at[..., None].expand(*at.shape, layer.keys.shape[-1])
        layer.keys, layer.values = layer.keys.gather(2, index), layer.values.gather(2, index)
    for place in range(CONTEXT, text.shape[1]):
        # Without a mask or a length of its own: layers are of unequal lengths.
        out = model(
            text[:, place : place + 1],
            past_key_values=cache,
            use_cache=True,
            position_ids=torch.full((text.shape[0], 1), place),
        )
        logits.append(out.logits)
    return torch.cat(logits, dim=1)


def test_a_policy_by_places_keeps_the_same_by_its_mask_and_by_its_choice() -> None:
    policy = SinksAndWindow(4, 56)
    cache = read_context(attach_policy(model_of("llama"), policy), oracle_tokens())
    whole = torch.arange(120).expand(1, 2, 120)
    none = torch.empty(0)
    kept = policy.keep(Seen(0, 3, none, none, none, 1.0, whole, 120, {}))
    assert torch.equal(whole[kept].view(1, 2, -1), cache.layers[0].places)


@torch.no_grad()
@pytest.mark.parametrize("architecture", [*INTERFACE, "gemma3"])
def test_what_follows_is_read_from_what_each_layer_kept(architecture: str, tmp_path: Path) -> None:
    text = tokens()
    model = attach_policy(plain(architecture, tmp_path), Pyramid(20))
    cache = read_context(model, text[:, :CONTEXT])
    lengths = kept_tokens(cache)
    assert lengths.by_layer == (23, 13) and (lengths.mean, lengths.most) == (18, 23)
    own = follow(model, cache, text[:, CONTEXT:])
    reference = plain(architecture, tmp_path)
    wanted = by_hand(reference, text, [layer.places for layer in cache.layers])
    assert torch.allclose(own, wanted, atol=1e-4)
    whole = reference(text).logits[:, CONTEXT:]
    assert float((wanted - whole).abs().max()) > 0.05, "nothing was let go of"


@pytest.mark.parametrize("architecture", [*INTERFACE, "gemma3"])
def test_a_budget_of_the_whole_context_gives_the_models_own_logits(
    architecture: str, tmp_path: Path
) -> None:
    text = tokens()
    wanted = plain(architecture, tmp_path)(text).logits
    model = attach_policy(plain(architecture, tmp_path), LastRow(CONTEXT))
    cache = read_context(model, text[:, :CONTEXT])
    assert torch.allclose(follow(model, cache, text[:, CONTEXT:]), wanted[:, CONTEXT:], atol=1e-4)


@pytest.mark.parametrize("architecture", ["bloom", "falcon", "gptj"])
def test_what_cannot_be_cut_is_refused_and_left_as_it_was(
    architecture: str, tmp_path: Path
) -> None:
    model, _ = load_dequantized(write_model(architecture, tmp_path))
    own = model.config._attn_implementation
    why = "(AttentionInterface|takes no)"
    with pytest.raises(CallFailure, match=f"Cannot keep a part of the cache of .*{why}"):
        attach_policy(model, LastRow(20))
    assert policy_of(model) is None
    assert model.config._attn_implementation == own
    assert torch.isfinite(model(tokens(5)).logits).all()


def test_a_row_is_decided_by_itself_whatever_stands_beside_it() -> None:
    model = attach_policy(model_of("llama"), LastRow(11, sinks=2, window=3))
    rows = tokens(CONTEXT, rows=4)
    order = torch.tensor([2, 0, 3, 1])
    together, turned = read_context(model, rows), read_context(model, rows[order])
    for own, other in zip(together.layers, turned.layers, strict=True):
        assert torch.equal(own.places[order], other.places)
    for number in range(4):
        alone = read_context(model, rows[number : number + 1])
        for own, other in zip(together.layers, alone.layers, strict=True):
            assert torch.equal(own.places[number], other.places[0])
            assert set(own.places[number, 0].tolist()) >= {0, 1, CONTEXT - 3, CONTEXT - 1}


def test_what_follows_and_what_was_read_before_change_nothing_of_a_decision() -> None:
    text = tokens()
    model = attach_policy(model_of("llama"), LastRow(15))
    first = read_context(model, text[:, :CONTEXT])
    before = places(first)
    one, two = text[:, CONTEXT:], tokens(AFTER, seed=9)
    wanted = follow(model, first, one)
    follow(model, first, two)
    attach_policy(model_of("llama"), LastRow(5))(text, logits_to_keep=1)  # another in between
    read_context(model, tokens(60, seed=8))
    assert places(first) == before == places(read_context(model, text[:, :CONTEXT]))
    assert torch.equal(follow(model, first, one), wanted)
    parts = [follow(model, first, one[:, :count]) for count in (1, 5)]
    for part in parts:
        assert torch.allclose(part, wanted[:, : part.shape[1]], atol=1e-9)


@torch.no_grad()
def test_a_policy_may_decide_at_each_step_by_what_it_noted_before() -> None:
    text, budget, window = tokens(), 12, 4
    model = attach_policy(model_of("llama"), heavy_hitters(budget, window))
    cache = read_context(model, text[:, :CONTEXT])
    own = follow(model, cache, text[:, CONTEXT:])
    assert kept_tokens(cache).by_layer == (budget,) * 3
    # The same by attention matrices, with a cache that is cut by hand after every pass.
    reference = model_of("llama")
    reference.set_attn_implementation("eager")
    held, sums, logits = None, [torch.zeros(2, 0)] * 3, []
    kept_places = [torch.arange(0).expand(2, 0)] * 3
    steps = [(0, CONTEXT), *((place, place + 1) for place in range(CONTEXT, text.shape[1]))]
    for start, end in steps:
        out = reference(
            text[:, start:end],
            past_key_values=held,
            use_cache=True,
            output_attentions=True,
            position_ids=torch.arange(start, end)[None],
        )
        held = out.past_key_values
        logits.append(out.logits)
        for number, layer in enumerate(held.layers):
            new = torch.arange(start, end).expand(2, -1)
            kept_places[number] = torch.cat([kept_places[number], new], dim=-1)
            weights = out.attentions[number][0].sum(1).view(2, 3, -1).mean(1)
            sums[number] = torch.nn.functional.pad(sums[number], (0, end - start)) + weights
            recent = kept_places[number] >= end - window
            best = sums[number].masked_fill(recent, torch.inf).topk(budget).indices.sort().values
            sums[number] = sums[number].gather(-1, best)
            kept_places[number] = kept_places[number].gather(-1, best)
            index = best[None, ..., None].expand(-1, -1, -1, layer.keys.shape[-1])
            layer.keys, layer.values = layer.keys.gather(2, index), layer.values.gather(2, index)
    assert torch.allclose(own, torch.cat(logits[1:], dim=1), atol=1e-4)
    assert kept_bytes(cache) == 3 * 2 * budget * (2 * 8 * 8 + 4)  # keys, values and a sum each


def test_sums_of_attention_are_made_of_a_few_rows_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = torch.Generator().manual_seed(2)
    queries = torch.randn(2, 6, 30, 8, generator=draw, dtype=torch.float64)
    keys = torch.randn(2, 3, 50, 8, generator=draw, dtype=torch.float64)
    seen = Seen(0, 1, queries, keys, keys, 0.4, torch.arange(50).expand(2, 3, 50), 50, {})
    later = torch.ones(30, 50, dtype=torch.bool).triu(21)
    products = queries @ keys.repeat_interleave(2, dim=1).transpose(-1, -2) * 0.4
    matrix = products.masked_fill(later, -torch.inf).softmax(-1)
    softmax, rows = torch.Tensor.softmax, []

    def counted(self: torch.Tensor, *given: Any, **named: Any) -> torch.Tensor:
        rows.append(self.shape[-2])
        return softmax(self, *given, **named)

    monkeypatch.setattr(scoring, "ROWS", 7)
    monkeypatch.setattr(torch.Tensor, "softmax", counted)
    assert torch.allclose(scoring.attention_sums(seen).double(), matrix.sum(-2), atol=1e-5)
    assert rows == [7, 7, 7, 7, 2]
    last = scoring.attention_sums(seen, 9).double()
    assert torch.allclose(last, matrix[:, :, -9:].sum(-2), atol=1e-5)
    assert rows[5:] == [7, 2]


def test_a_pass_whose_logits_would_say_nothing_of_the_policy_is_refused() -> None:
    text = tokens()
    model = attach_policy(model_of("llama"), LastRow(20))
    for named in ({}, {"use_cache": False}, {"logits_to_keep": torch.tensor([3])}):
        with pytest.raises(TypeError, match=r"last token alone \(logits_to_keep=1\)"):
            model(text, **named)
    with pytest.raises(TypeError, match="without padding"):
        model(text, attention_mask=torch.ones(1, 1, 52, 52), logits_to_keep=1)
    with pytest.raises(RuntimeError, match="runs in the passes of a model with a policy"):
        model.model(text)
    stepping = attach_policy(model_of("llama"), heavy_hitters(20, 8))
    cache = read_context(stepping, text[:, :CONTEXT])
    with pytest.raises(TypeError, match="a token a pass after the prompt, not 12"):
        stepping(text[:, CONTEXT:], past_key_values=cache)
    with pytest.raises(TypeError, match="cannot be cropped"):
        cache.crop(-1)


def test_heads_that_keep_unequal_numbers_are_refused() -> None:
    class Ragged(LastRow):
        def keep(self, seen: Seen) -> torch.Tensor:
            kept = torch.ones_like(seen.places, dtype=torch.bool)
            kept[:, 0, :5] = False
            return kept

    model = attach_policy(model_of("llama"), Ragged(20))
    with pytest.raises(
        ValueError, match="every head of a layer must keep as many tokens: 35 to 40"
    ):
        read_context(model, tokens(CONTEXT))
    with pytest.raises(ValueError, match="a budget of 3 tokens has no room for 2 sinks"):
        read_context(
            attach_policy(model_of("llama"), LastRow(3, sinks=2, window=4)), tokens(CONTEXT)
        )


@torch.no_grad()
def test_transformers_generates_under_a_policy_as_greedy_search_by_hand() -> None:
    model = attach_policy(model_of("llama"), LastRow(14))
    prompt = tokens(CONTEXT, rows=2)
    made = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=8,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=2,
    )
    out = model(prompt, use_cache=True, logits_to_keep=1)
    text, best = prompt, out.logits[:, -1:].argmax(-1)
    for _ in range(8):
        text = torch.cat([text, best], dim=1)
        best = model(best, past_key_values=out.past_key_values).logits.argmax(-1)
    assert made.tolist() == text.tolist()
    assert out.past_key_values.layers[0].keys.shape[-2] == 14 + 8
    beams = model.generate(
        prompt[:1],
        max_new_tokens=4,
        num_beams=3,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=2,
    )
    assert beams.shape == (1, CONTEXT + 4)
