"""The output head as a target of calibrated methods: rounded by what it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from random_models import write_model
from tiny_model import act, calibration, tiny_dir

from pare_backends.checkpoint import GridTensor, load_dequantized, read
from pare_backends.quantization.head import head_statistics, with_lookups

GRID = {"bits": 3, "group_size": 32}
RTN: dict[str, Any] = {**GRID, "clip": True}


def windows() -> torch.Tensor:
    from safetensors.torch import load_file

    return load_file(str(calibration()))["input_ids"].long()


def test_the_statistics_are_those_of_the_last_hidden_states() -> None:
    model = load_dequantized(tiny_dir())[0]
    found = head_statistics(model, windows())
    with torch.no_grad():
        hidden = model.model(windows()).last_hidden_state.flatten(0, 1)
    assert found is not None
    torch.testing.assert_close(found.products, hidden.T @ hidden, rtol=1e-3, atol=1e-2)
    torch.testing.assert_close(found.largest, hidden.abs().amax(0))


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_a_head_that_is_the_embedding_errs_less_than_rounded_to_nearest(
    method: str, tmp_path: Path
) -> None:
    target = {"targets": "embedding"}
    act(tmp_path / "rtn", "rtn", {**RTN, **target})
    result = act(tmp_path / method, method, {**GRID, **target})
    assert result["stored_layers"] == 1
    assert list(read(tmp_path / method).stored) == ["model.embed_tokens"]
    statistics = head_statistics(load_dequantized(tiny_dir())[0], windows())
    assert statistics is not None
    weight = read(tiny_dir()).weight("model.embed_tokens")
    errors = {
        name: statistics.error(read(tmp_path / name).stored["model.embed_tokens"].weight() - weight)
        for name in ("rtn", method)
    }
    assert errors[method] < 0.9 * errors["rtn"]


def test_lookups_count_where_the_head_is_the_embedding(tmp_path: Path) -> None:
    plain = head_statistics(load_dequantized(tiny_dir())[0], windows())
    assert plain is not None
    added = (with_lookups(plain).products - plain.products).double()
    mean = float(plain.products.diagonal().mean())
    torch.testing.assert_close(
        added, 0.1 * mean * torch.eye(len(added)).double(), rtol=1e-3, atol=1
    )


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_everything_at_once_is_the_linear_layers_and_then_the_head(
    method: str, tmp_path: Path
) -> None:
    linear = act(tmp_path / "linear", method, {**GRID, "samples": 4})
    act(tmp_path / "all", method, {**GRID, "samples": 4, "targets": "all"})
    one, both = read(tmp_path / "linear"), read(tmp_path / "all")
    assert len(both.stored) == linear["stored_layers"] + 1
    for layer, tensor in one.stored.items():
        assert np.array_equal(tensor.weight(), both.stored[layer].weight()), layer


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_an_embedding_beside_a_head_is_rounded_to_nearest(method: str, tmp_path: Path) -> None:
    (tmp_path / "parent").mkdir()
    parent = write_model("gpt_neox", tmp_path / "parent")
    target = {"targets": "embedding"}
    act(tmp_path / "rtn", "rtn", {**RTN, **target}, parent=parent)
    act(tmp_path / method, method, {**GRID, **target}, parent=parent)
    plain, made = read(tmp_path / "rtn").stored, read(tmp_path / method).stored
    assert sorted(made) == ["embed_out", "gpt_neox.embed_in"]
    same = {name: np.array_equal(made[name].weight(), plain[name].weight()) for name in made}
    assert same == {"embed_out": False, "gpt_neox.embed_in": True}


def test_int8_rounds_outer_layers_and_leaves_their_inputs(tmp_path: Path) -> None:
    parent = write_model("gpt_neox", tmp_path)
    params = {"activation_group_size": 32, "targets": "all"}
    act(tmp_path / "out", "int8", params, parent=parent)
    made = read(tmp_path / "out")
    outer = {"embed_out", "gpt_neox.embed_in"}
    inner = set(made.stored) - outer
    assert outer <= set(made.stored)
    assert inner
    grids = made.in_form(GridTensor)
    assert {grids[name].activation_bits for name in outer} == {None}
    assert all(grids[name].activation_bits == 8 for name in inner)
    weight = read(parent).weight("embed_out")
    step = np.abs(weight).max(axis=1, keepdims=True) / 127
    assert (np.abs(grids["embed_out"].weight() - weight) <= 0.51 * step).all()


@pytest.mark.parametrize("scale", ["per_channel", "per_tensor"])
def test_smoothquant_takes_what_smoothing_leaves_alone_too(scale: str, tmp_path: Path) -> None:
    params = {"weight_scale": scale, "activation_group_size": 32, "samples": 4}
    act(tmp_path / "linear", "smoothquant", params)
    act(tmp_path / "all", "smoothquant", {**params, "targets": "all"})
    one, both = (read(tmp_path / name).in_form(GridTensor) for name in ("linear", "all"))
    assert set(both) - set(one) == {"model.embed_tokens"}
    for layer, tensor in one.items():
        assert np.array_equal(tensor.weight(), both[layer].weight()), layer
    made = both["model.embed_tokens"]
    weight = read(tiny_dir()).weight("model.embed_tokens")
    assert made.activation_bits is None
    assert (np.unique(made.scales).size == 1) == (scale == "per_tensor")
    assert np.abs(made.weight() - weight).max() <= 0.51 * np.abs(weight).max() / 127
