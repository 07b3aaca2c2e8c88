"""A cache that keeps sinks and a window: what the model sees, keeps and says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from random_models import configurations, write_model
from tiny_model import tiny_dir

from pare_backends.cache.attach import attach_policy
from pare_backends.cache.kept import PlacedLayer
from pare_backends.checkpoint import load_dequantized
from pare_backends.failures import CallFailure
from pare_backends.kv_cache.streaming import Params, SinksAndWindow, attach

SINKS, WINDOW, TOKENS = 3, 16, 60
FULL_ATTENTION = sorted(
    set(configurations(100)) - {"bloom", "gemma3"}  # alibi without a mask; a sliding window
)


def tokens(count: int = TOKENS, vocabulary: int = 60) -> torch.Tensor:
    """returns: (1, count) int64"""
    drawn = np.random.default_rng(5).integers(3, vocabulary, (1, count))
    return torch.from_numpy(drawn)


def hidden(count: int, sinks: int = SINKS, window: int = WINDOW) -> torch.Tensor:
    """The oracle's mask, written out token by token. returns: (1, 1, count, count)"""
    mask = torch.full((count, count), torch.finfo(torch.float64).min, dtype=torch.float64)
    for query in range(count):
        for key in range(query + 1):
            if key < sinks or key > query - window:
                mask[query, key] = 0.0
    return mask[None, None]


def both(directory: Path, dtype: torch.dtype = torch.float64) -> tuple[Any, Any]:
    """(the model, the model with the policy), in float64: the order of a sum is no difference"""
    plain, kept = (load_dequantized(directory)[0].to(dtype) for _ in range(2))
    return plain, attach(kept, Params(SINKS, WINDOW))


def stepped(model: Any, text: torch.Tensor, first: int) -> tuple[torch.Tensor, Any]:
    """Logits of every token where `first` are read at once and the others one by one."""
    out = model(text[:, :first], use_cache=True)
    logits, cache = [out.logits], out.past_key_values
    for place in range(first, text.shape[1]):
        out = model(text[:, place : place + 1], past_key_values=cache, use_cache=True)
        logits.append(out.logits)
    return torch.cat(logits, dim=1), cache


@torch.no_grad()
def test_a_text_within_sinks_and_window_gives_the_logits_of_full_attention() -> None:
    plain, kept = both(tiny_dir())
    text = tokens(SINKS + WINDOW)
    assert torch.allclose(kept(text).logits, plain(text).logits, atol=1e-5)
    logits, cache = stepped(kept, text, 5)
    assert torch.allclose(logits, plain(text).logits, atol=1e-5)
    assert cache.layers[0].keys.shape[-2] == SINKS + WINDOW


@torch.no_grad()
@pytest.mark.parametrize("first", [1, 10, 19, 20, 40, TOKENS])
def test_beyond_the_window_logits_are_those_of_a_mask_over_what_is_evicted(first: int) -> None:
    plain, kept = both(tiny_dir())
    text = tokens()
    wanted = plain(text, attention_mask=hidden(TOKENS)).logits
    logits, cache = stepped(kept, text, first)
    assert torch.allclose(logits, wanted, atol=1e-5)
    assert float((logits - plain(text).logits).abs().max()) > 0.1, "nothing was hidden"
    for layer in cache.layers:
        assert layer.keys.shape[-2] == layer.values.shape[-2] == SINKS + WINDOW
        # No view into a longer tensor: the memory is given back.
        assert layer.keys.untyped_storage().nbytes() == layer.keys.numel() * 8
    assert cache.get_seq_length() == TOKENS


@torch.no_grad()
def test_blocks_of_any_size_give_the_same_logits() -> None:
    plain, kept = both(tiny_dir())
    text = tokens()
    wanted = plain(text, attention_mask=hidden(TOKENS)).logits
    cache, logits = None, []
    for start, end in [(0, 7), (7, 30), (30, 31), (31, 60)]:
        out = kept(text[:, start:end], past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        logits.append(out.logits)
    assert torch.allclose(torch.cat(logits, dim=1), wanted, atol=1e-5)


@torch.no_grad()
def test_a_window_without_sinks_and_a_batch() -> None:
    plain, _ = both(tiny_dir())
    kept = attach(load_dequantized(tiny_dir())[0].double(), Params(0, WINDOW))
    text = torch.cat([tokens(), tokens().flip(1)])
    wanted = plain(text, attention_mask=hidden(TOKENS, sinks=0).expand(2, -1, -1, -1)).logits
    assert torch.allclose(kept(text).logits, wanted, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("architecture", FULL_ATTENTION)
def test_every_architecture_with_full_attention_keeps_to_the_mask(
    architecture: str, tmp_path: Path
) -> None:
    # A mixture's experts are multiplied in float32 alone.
    plain, kept = both(write_model(architecture, tmp_path), torch.float32)
    text = tokens()
    mask = hidden(TOKENS).float().clamp(min=-1e38)
    wanted = plain(text, attention_mask=mask, position_ids=torch.arange(TOKENS)[None]).logits
    assert torch.allclose(kept(text).logits, wanted, atol=1e-3)
    logits, _ = stepped(kept, text, 30)
    assert torch.allclose(logits, wanted, atol=1e-3)
    assert float((wanted - plain(text).logits).abs().max()) > 0.1, "nothing was hidden"


def test_a_model_that_takes_no_mask_is_refused_in_words(tmp_path: Path) -> None:
    model, _ = load_dequantized(write_model("bloom", tmp_path))
    with pytest.raises(CallFailure, match="Cannot keep a part of the cache of Bloom"):
        attach(model, Params())


@torch.no_grad()
def test_generation_of_transformers_is_greedy_search_under_the_policy() -> None:
    plain, kept = both(tiny_dir())
    prompt = tokens(30)
    made = kept.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=20,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=2,
    )
    text = prompt
    for _ in range(20):
        logits = plain(text, attention_mask=hidden(text.shape[1])).logits
        text = torch.cat([text, logits[:, -1:].argmax(-1)], dim=1)
    assert made.tolist() == text.tolist()


@torch.no_grad()
def test_padding_and_a_cache_without_the_policy_are_refused() -> None:
    plain, kept = both(tiny_dir())
    text = tokens(8)
    with pytest.raises(TypeError, match="without padding"):
        kept(text, attention_mask=torch.tensor([[0, 1, 1, 1, 1, 1, 1, 1]]))
    cache = plain(text, use_cache=True).past_key_values
    with pytest.raises(TypeError, match="without the policy"):
        kept(text, past_key_values=cache)
    with pytest.raises(TypeError, match="a policy already"):
        attach_policy(kept, SinksAndWindow(1, 16))


def test_a_layer_cannot_take_back_what_it_let_go_of() -> None:
    layer = PlacedLayer(SinksAndWindow(1, 4))
    with pytest.raises(TypeError, match="cropped"):
        layer.crop(-1)
