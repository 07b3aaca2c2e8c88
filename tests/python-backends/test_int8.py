"""`int8`: integers on disk, inputs rounded as the model runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tiny_model import accuracy, act, tiny_dir

from pare_backends.checkpoint import load_dequantized, read
from pare_backends.checkpoint.load import round_per_token

PROBE = torch.arange(3, 30)[None]


def test_int8_is_stored_as_bytes_and_declares_its_activations(tmp_path: Path) -> None:
    result = act(tmp_path / "child", "int8", {})
    child = read(tmp_path / "child")
    assert result["activation_bits"] == 8
    assert len(child.quantized) == 14
    for tensor in child.quantized.values():
        assert (tensor.bits, tensor.group_size, tensor.activation_bits) == (8, -1, 8)
        assert np.abs(tensor.ints).max() == 127
        assert tensor.symmetric


def test_inputs_are_rounded_per_token() -> None:
    inputs = torch.randn(2, 5, 64)
    inputs[0, 3] *= 100
    rounded = round_per_token(inputs)
    step = inputs.abs().amax(-1, keepdim=True) / 127.5
    assert ((rounded - inputs).abs() <= 0.51 * step).all()
    assert (rounded != inputs).any()
    for token in range(5):
        assert len(torch.unique(rounded[0, token] / step[0, token])) <= 64
    assert (round_per_token(torch.zeros(1, 2, 8)) == 0).all()


def test_the_model_computes_with_rounded_inputs(tmp_path: Path) -> None:
    act(tmp_path / "w8a8", "int8", {})
    act(tmp_path / "w8", "rtn", {"bits": 8, "group_size": -1})
    full, weights_only = (
        load_dequantized(tmp_path / "w8a8")[0],
        load_dequantized(tmp_path / "w8")[0],
    )
    name = "model.layers.0.mlp.up_proj.weight"
    assert torch.equal(full.state_dict()[name], weights_only.state_dict()[name])
    with torch.inference_mode():
        difference = (full(PROBE).logits - weights_only(PROBE).logits).abs().max()
    assert difference > 1e-3


def test_eight_bits_keep_the_facts(tmp_path: Path) -> None:
    act(tmp_path / "child", "int8", {})
    kept = accuracy(*load_dequantized(tmp_path / "child"))
    assert abs(kept - accuracy(*load_dequantized(tiny_dir()))) <= 0.03
