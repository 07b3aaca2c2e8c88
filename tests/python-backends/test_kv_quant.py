"""Keys and values as codes: their errors, their bytes, and what a model reads from them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracles.kept_positions import model_of, tokens

from pare_backends.cache.codes import (
    KIVI,
    Coder,
    TurboQuant,
    UnbiasedTurboQuant,
    codebook,
    packed,
    turn,
    unpacked,
)
from pare_backends.cache.kept import CodedLayer, kept_bytes, kept_tokens
from pare_backends.cache.reading import follow, read_context
from pare_backends.failures import CallFailure
from pare_backends.kv_cache import h2o, kv_quant, snapkv

CONTEXT = 100
LEVELS = {
    64: {
        1: [0.801],
        2: [0.4522, 1.5000],
        3: [0.2435, 0.7503, 1.3290, 2.1110],
        4: [0.1269, 0.3839, 0.6495, 0.9307, 1.2381, 1.5896, 2.0221, 2.6454],
    },
    128: {
        1: [0.7995],
        2: [0.4525, 1.5052],
        3: [0.2442, 0.7530, 1.3362, 2.1311],
        4: [0.1273, 0.3854, 0.6524, 0.9358, 1.2464, 1.6030, 2.0447, 2.6878],
    },
}
"""The upper half of TurboQuant's codebooks, times the root of the features."""
ERRORS = {64: [0.358, 0.1145, 0.0334, 0.0091], 128: [0.361, 0.116, 0.0340, 0.0093]}
"""Squared, of directions, for 1 to 4 bits."""


def drawn(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("width", [64, 128])
def test_turboquants_codebooks_and_errors_are_the_known_ones(width: int, bits: int) -> None:
    levels = codebook(width, bits) * width**0.5
    # Those of 4 bits were written down a little before they had settled.
    assert torch.allclose(levels[2 ** (bits - 1) :], torch.tensor(LEVELS[width][bits]), atol=2e-3)
    assert torch.allclose(levels, -levels.flip(0), atol=1e-3)
    states = drawn(1, 2, 4_000, width) * 7
    coder = TurboQuant(bits, residual=0)
    coded = coder.encode(states, states)
    for found in coder.decode(coded, torch.float32):
        error = ((found - states).norm(dim=-1) / states.norm(dim=-1)).square().mean()
        assert float(error) == pytest.approx(ERRORS[width][bits - 1], rel=0.02)
    values = 2 * states.numel()
    assert sum(8 * one.nbytes for one in coded) / values == bits + 16 / width
    own = turn(width, 0)
    assert torch.allclose(own @ own.T, torch.eye(width), atol=1e-5)


def test_products_with_queries_are_right_on_average_in_the_unbiased_form() -> None:
    width, bits = 64, 2
    key, query = drawn(1, 1, 1, width), drawn(1, 1, 1, width, seed=9)
    query = query + key  # a product that is far from 0
    true = float((key * query).sum())

    def mean(kind: type[TurboQuant]) -> tuple[float, float]:
        found = []
        for seed in range(800):
            coder = kind(bits, 0, seed)
            keys, values = coder.decode(coder.encode(key, key), torch.float32)
            found.append(float((keys * query).sum()))
            assert torch.equal(
                values,
                TurboQuant(bits, 0, seed).decode(
                    TurboQuant(bits, 0, seed).encode(key, key), torch.float32
                )[1],
            )
        spread = torch.tensor(found)
        return float(spread.mean()), float(spread.std()) / len(found) ** 0.5

    plain, error = mean(TurboQuant)
    assert plain < true - 5 * error, "the best levels by squared error shorten a vector"
    unbiased, error = mean(UnbiasedTurboQuant)
    assert abs(unbiased - true) < 3 * error
    coded = UnbiasedTurboQuant(bits, 0).encode(key, key)
    assert sum(8 * one.nbytes for one in coded) / width == 2 * bits + 3 * 16 / width


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("width", [8, 12, 64])
def test_packed_codes_come_back_to_the_bit(width: int, bits: int) -> None:
    draw = torch.Generator().manual_seed(1)
    codes = torch.randint(0, 2**bits, (3, 5, width), generator=draw)
    planes = packed(codes, bits)
    assert planes.dtype is torch.uint8 and planes.shape == (3, 5, bits, -(-width // 8))
    assert torch.equal(unpacked(planes, width, bits).long(), codes)


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_kivi_rounds_keys_by_channel_and_values_by_token(bits: int) -> None:
    keys, values = drawn(2, 3, 64, 64), drawn(2, 3, 64, 64, seed=4)
    keys[..., 5] *= 50  # a channel that is large in every token, as keys have them
    values[:, :, 7] *= 50  # and a token
    coder = KIVI(bits, unit=32, residual=0)
    coded = coder.encode(keys, values)
    found_keys, found_values = coder.decode(coded, torch.float32)
    groups = {
        "keys": (keys, found_keys, keys.unflatten(2, (2, 32)), 3),
        "values": (values, found_values, values.unflatten(3, (2, 32)), 4),
    }
    for states, found, grouped, along in groups.values():
        spread = grouped.amax(along, keepdim=True) - grouped.amin(along, keepdim=True)
        step = (spread / (2**bits - 1)).expand(grouped.shape).reshape(states.shape)
        # Half a step, and what float16 rounds off its least and its step.
        assert bool(((found - states).abs() <= 0.51 * step + 4e-3 * states.abs().amax()).all())
    apart = (found_keys - keys)[..., :5].square().mean() / keys[..., :5].square().mean()
    by_token, _ = KIVI(bits, 32, 0).decode(coder.encode(values, keys), torch.float32)[::-1]
    mixed = (by_token - keys)[..., :5].square().mean() / keys[..., :5].square().mean()
    assert float(mixed) > 3 * float(apart), "a large channel spoils its neighbours by token"
    assert sum(8 * one.nbytes for one in coded) / (2 * keys.numel()) == bits + 32 / 32


CODERS: list[tuple[str, dict[str, Any]]] = [
    ("kivi", {"code_bits": 4, "code_group": 16}),
    ("kivi", {"code_bits": 2, "code_group": 16}),
    ("turboquant", {"code_bits": 3}),
    ("turboquant_unbiased", {"code_bits": 3}),
]


@torch.no_grad()
@pytest.mark.parametrize(("codes", "knobs"), CODERS)
def test_a_model_reads_what_the_codes_stand_for(codes: str, knobs: dict[str, Any]) -> None:
    residual = 20
    params = kv_quant.Params(codes=codes, code_residual=residual, **knobs)
    own, text = kv_quant.attach(model_of("llama"), params), tokens()[:, : CONTEXT + 1]
    cache = read_context(own, text[:, :CONTEXT])
    coder = params.coder()
    assert coder is not None
    older = (CONTEXT - residual) // coder.unit * coder.unit
    plain = model_of("llama")
    by_hand = plain(text[:, :CONTEXT], use_cache=True).past_key_values
    for layer, held in zip(by_hand.layers, cache.layers, strict=True):
        before = layer.keys[..., :older, :], layer.values[..., :older, :]
        for found, states in zip(
            coder.decode(coder.encode(*before), torch.float64), before, strict=True
        ):
            states.copy_(found)
        assert isinstance(held, CodedLayer) and held.keys.shape[-2] == CONTEXT - older
    wanted = plain(text[:, CONTEXT:], past_key_values=by_hand, use_cache=True).logits
    assert torch.allclose(follow(own, cache, text[:, CONTEXT:]), wanted, atol=1e-9)
    assert kept_tokens(cache).by_layer == (CONTEXT,) * 3


@torch.no_grad()
@pytest.mark.parametrize(("codes", "knobs"), CODERS)
def test_what_has_grown_old_becomes_codes_as_a_text_goes_on(
    codes: str, knobs: dict[str, Any]
) -> None:
    params = kv_quant.Params(codes=codes, code_residual=20, **knobs)
    own, coder = kv_quant.attach(model_of("llama"), params), params.coder()
    assert isinstance(coder, Coder)
    text = torch.cat([tokens(), tokens().flip(1)])
    cache = read_context(own, text[:, :50])
    for place in range(50, 90):
        own(text[:, place : place + 1], past_key_values=cache)
        for layer in cache.layers:
            assert layer.keys.shape[-2] == 20 + (place + 1 - 20) % coder.unit
            assert layer.places.shape[-1] == place + 1
    floats = 2 * 3 * 2 * 2 * 90 * 8 * 8
    assert kept_bytes(cache) < 0.5 * floats
    cache.batch_select_indices(torch.tensor([1]))
    alone = read_context(own, text[1:, :50])
    for place in range(50, 90):
        own(text[1:, place : place + 1], past_key_values=alone)
    part = text[1:, 90:91]
    assert torch.allclose(follow(own, cache, part), follow(own, alone, part), atol=1e-9)


def test_codes_follow_an_eviction_and_more_bits_are_nearer_to_floats() -> None:
    text = tokens()
    knobs: dict[str, Any] = {"budget": 60, "window": 16}

    def read(**codes: Any) -> tuple[Any, torch.Tensor]:
        own = snapkv.attach(model_of("llama"), snapkv.Params(**knobs, **codes))
        cache = read_context(own, text[:, :CONTEXT])
        return cache, follow(own, cache, text[:, CONTEXT:])

    floats, wanted = read()
    apart = []
    for bits in (4, 3, 2):
        cache, said = read(codes="turboquant", code_bits=bits, code_residual=10)
        for one, other in zip(floats.layers, cache.layers, strict=True):
            assert torch.equal(one.places, other.places), "what stays is another question"
        # 50 of 60 tokens: planes of bits and a length in float16 for 8 features.
        coded = 3 * 2 * 2 * 50 * (bits + 2)
        assert kept_bytes(cache) == coded + 3 * 2 * 2 * 10 * 8 * 8
        apart.append(float((said - wanted).abs().mean()))
    assert 0 < apart[0] < apart[1] < apart[2]


def test_what_is_let_go_of_later_cannot_be_codes() -> None:
    with pytest.raises(
        CallFailure, match="TurboQuant codes of 4 bits that are let go of each_step"
    ):
        h2o.H2O(h2o.Params(codes="turboquant", evicts="each_step"))
    layer = CodedLayer(KIVI(4, 16, 0))
    layer.update(drawn(1, 2, 16, 8), drawn(1, 2, 16, 8))
    layer.settle()
    with pytest.raises(TypeError, match="are not let go of"):
        layer.cut(torch.zeros(1, 2, 16, dtype=torch.bool))
