"""`gptq`: llm-compressor's own integers, better than rounding on what it was calibrated on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_model import act, calibration, tiny_dir

from pare_backends.checkpoint import load_dequantized, read
from pare_backends.failures import CallFailure
from pare_backends.quantization.libraries.extract import grid_tensor

PARAMS = {"bits": 3, "group_size": 32, "samples": 16}


def divergence(directory: Path) -> float:
    """Mean KL divergence from the source's next-word distribution on the calibration windows."""
    from safetensors.torch import load_file

    windows = load_file(str(calibration()))["input_ids"].long()
    source, child = load_dequantized(tiny_dir())[0], load_dequantized(directory)[0]
    with torch.inference_mode():
        truth, guess = source(windows).logits.log_softmax(-1), child(windows).logits.log_softmax(-1)
    return float((truth.exp() * (truth - guess)).sum(-1).mean())


def test_gptq_stays_closer_to_the_source_than_rounding(tmp_path: Path) -> None:
    result = act(tmp_path / "gptq", "gptq", PARAMS)
    act(tmp_path / "rtn", "rtn", {"bits": 3, "group_size": 32, "clip": True})
    assert divergence(tmp_path / "gptq") < 0.8 * divergence(tmp_path / "rtn")
    child = read(tmp_path / "gptq")
    assert result["stored_layers"] == len(child.stored) == 14
    assert result["weight_bits"] == pytest.approx(3 + 16 / 32, rel=0.02)
    for tensor in child.stored.values():
        assert (tensor.bits, tensor.group_size, tensor.symmetric) == (3, 32, True)
        assert tensor.ints.min() >= -4 and tensor.ints.max() <= 3


def test_gptq_asymmetric_rows_after_a_quantized_embedding(tmp_path: Path) -> None:
    act(tmp_path / "one", "rtn", {"targets": "embedding", "bits": 8, "group_size": 64})
    params = {"bits": 4, "group_size": -1, "symmetric": False, "actorder": "none", "samples": 2}
    act(tmp_path / "two", "gptq", params, parent=tmp_path / "one")
    child = read(tmp_path / "two")
    assert len(child.stored) == 15
    assert not child.stored["model.layers.0.mlp.up_proj"].symmetric
    assert child.stored["model.layers.0.mlp.up_proj"].group_size == -1


def test_weights_off_the_grid_of_their_scales_are_refused() -> None:
    scales = torch.full((4, 1), 0.1)
    on_grid = torch.randint(-8, 8, (4, 16)).float() * 0.1
    tensor = grid_tensor("w", on_grid, scales, None, 4, -1)
    assert torch.allclose(torch.from_numpy(tensor.dequantize()), on_grid, rtol=1e-3)
    with pytest.raises(CallFailure, match="steps off the grid"):
        grid_tensor("w", on_grid + 0.02, scales, None, 4, -1)
    with pytest.raises(CallFailure, match="steps off the grid"):
        grid_tensor("w", on_grid * 2, scales, None, 4, -1)  # beyond 4 bits


def test_scales_that_are_no_numbers_are_named() -> None:
    with pytest.raises(CallFailure) as caught:
        grid_tensor("w", torch.zeros(4, 16), torch.full((4, 1), float("nan")), None, 4, -1)
    assert caught.value.kind == "not_a_number"


def test_a_wrong_group_is_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match="groups of 128") as caught:
        act(tmp_path / "child", "gptq", {"group_size": 128})
    assert caught.value.kind == "invalid"
