"""`int8`: integers on disk, inputs rounded as the model runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import openvino
import openvino.opset15 as ops
import pytest
import torch
from tiny_model import accuracy, act, tiny_dir

from pare_backends.checkpoint import load_dequantized, read
from pare_backends.checkpoint.load import round_inputs
from pare_backends.failures import CallFailure
from pare_backends.runtimes.openvino.graph_weights import packed_constant
from pare_backends.runtimes.openvino.input_rounding import rounds_inputs
from pare_backends.runtimes.stored_weights import PackedWeight

PROBE = torch.arange(3, 30)[None]


def test_int8_is_stored_as_bytes_and_declares_its_activations(tmp_path: Path) -> None:
    result = act(tmp_path / "child", "int8", {})
    child = read(tmp_path / "child")
    assert result["activation_bits"] == 8
    assert len(child.stored) == 14
    for tensor in child.stored.values():
        assert (tensor.bits, tensor.group_size) == (8, -1)
        assert (tensor.activation_bits, tensor.activation_group_size) == (8, -1)
        assert np.abs(tensor.ints).max() == 127
        assert tensor.symmetric


@pytest.mark.parametrize("group", [16, -1])
def test_the_groups_of_the_inputs_are_written_and_read(tmp_path: Path, group: int) -> None:
    act(tmp_path / "child", "int8", {"activation_group_size": group})
    config = json.loads((tmp_path / "child" / "config.json").read_text())
    declared = config["quantization_config"]["config_groups"]["group_0"]["input_activations"]
    assert declared["strategy"] == ("token" if group == -1 else "group")
    assert declared["group_size"] == (None if group == -1 else group)
    tensors = read(tmp_path / "child").stored.values()
    assert {tensor.activation_group_size for tensor in tensors} == {group}


def test_a_group_that_does_not_divide_a_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match="in groups of 48"):
        act(tmp_path / "child", "int8", {"activation_group_size": 48})


def test_inputs_are_rounded_by_groups_of_a_token() -> None:
    inputs = torch.randn(2, 5, 64)
    inputs[0, 3, 16:] *= 100
    rounded = round_inputs(inputs, 16)
    groups = inputs.unflatten(-1, (4, 16))
    step = groups.abs().amax(-1, keepdim=True) / 127.5
    assert ((rounded.unflatten(-1, (4, 16)) - groups).abs() <= 0.501 * step).all()
    assert (rounded != inputs).any()
    whole = round_inputs(inputs, -1)
    assert (whole[0, 3, :16] - inputs[0, 3, :16]).abs().max() > step[0, 3, 0]
    assert (round_inputs(torch.zeros(1, 2, 8), 4) == 0).all()


@pytest.mark.parametrize("group", [32, 64, -1])
def test_inputs_are_rounded_as_compressed_tensors_rounds_them(group: int) -> None:
    """The artifact is of its format, and its loader is named: bit for bit, zeros too."""
    from compressed_tensors.quantization import QuantizationArgs, fake_quantize
    from compressed_tensors.quantization.utils import compute_dynamic_scales_and_zp

    inputs = torch.randn(2, 9, 192, generator=torch.Generator().manual_seed(group))
    inputs[0, 3, 16:] *= 100
    inputs[1, 4, :64] = 0
    inputs[1, 5] = 0
    args = QuantizationArgs(
        num_bits=8,
        symmetric=True,
        dynamic=True,
        strategy="token" if group == -1 else "group",
        group_size=None if group == -1 else group,
    )
    scale, zero = compute_dynamic_scales_and_zp(inputs, args, torch.nn.Identity())
    assert torch.equal(round_inputs(inputs, group), fake_quantize(inputs, scale, zero, args))


def rounded_by_openvino(inputs: torch.Tensor, width: int) -> torch.Tensor:
    """OpenVINO's own rule: the largest input of a group is 127 steps."""
    groups = inputs.unflatten(-1, (-1, width))
    scale = groups.abs().amax(-1, keepdim=True) / 127
    return (torch.round(groups / scale) * scale).flatten(-2)


@pytest.mark.parametrize("group", [32, 64, 192])
@pytest.mark.parametrize("tokens", [1, 7])
def test_openvino_rounds_inputs_by_the_same_groups_and_its_own_steps(
    group: int, tokens: int
) -> None:
    """One layer: a layer in float differs by 1e-2, one with other groups or scales by 1e-3."""
    if not rounds_inputs():
        pytest.skip("OpenVINO rounds no inputs on this processor")
    rng = np.random.default_rng(group + tokens)
    ints = rng.integers(-127, 128, (48, 192)).astype(np.int8)
    scales = rng.uniform(0.001, 0.01, (48, 1)).astype(np.float32)
    weight = PackedWeight("i8", ints.view(np.uint8).reshape(-1), 48, 192, scales, None, 8)
    inputs = (rng.normal(size=(1, tokens, 192)) * rng.lognormal(size=192)).astype(np.float32)
    parameter = ops.parameter([1, -1, 192], np.float32)
    product = ops.matmul(parameter, packed_constant(weight), False, True)
    options = {"DYNAMIC_QUANTIZATION_GROUP_SIZE": group, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(openvino.Model([product], [parameter]), "CPU", options)
    runs = compiled([inputs])[0]
    expected = rounded_by_openvino(torch.from_numpy(inputs), group).numpy() @ weight.dequantize().T
    assert np.abs(runs - expected).max() <= 2e-6 * np.abs(expected).max()


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
