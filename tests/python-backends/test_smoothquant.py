"""`smoothquant`: the function stays until it is rounded; ranges of inputs are written and read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_architectures import model_dir
from test_awq import checkpoint_of, folded, modules_of
from test_gptq import divergence
from tiny_model import act, calibration, tiny_dir

from pare_backends.checkpoint import load_dequantized, read
from pare_backends.checkpoint.linear_modules import plain_linears
from pare_backends.checkpoint.load import inputs_as_they_are, load_model, round_static
from pare_backends.quantization.folding.folds import find_folds
from pare_backends.quantization.folding.scaling import Scaling
from pare_backends.quantization.smoothquant import smooth_scales

PER_TENSOR = {"weight_scale": "per_tensor", "activation_group_size": -1}


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3", "gpt2", "opt", "gemma3"])
def test_smoothing_leaves_the_function_as_it_is(architecture: str) -> None:
    directory = model_dir(architecture)
    model = load_model(read(directory), directory)
    plain_linears(model)
    model = model.double()
    tokens = torch.arange(3, 19)[None]
    modules = modules_of(model)
    folds = find_folds(model, modules, frozenset(), tokens)
    assert folds.folds, "nothing was tried"
    before = model(tokens).logits.detach()
    held = {name: value.numpy() for name, value in model.state_dict().items()}
    scaling = Scaling(model, modules, checkpoint_of(held))
    chance = np.random.default_rng(0)
    for fold in folds.folds:
        weights = [scaling.weight(layer) for layer in fold.readers]
        largest = np.exp(2 * chance.normal(size=weights[0].shape[1]))
        scales = smooth_scales(largest, weights, 0.5)
        assert scales.max() > 2 * scales.min()
        scaling.fold(fold, scales)
    changed = folded(model, scaling, tokens)
    # A bias that is divided is stored in float16 alone, which is no matter of the fold.
    biased = any(name.endswith(".bias") for name in scaling.floats)
    limit = 1e-3 if biased else 1e-5
    assert float((changed - before).abs().max()) <= limit * float(before.abs().max())


def test_the_scales_are_the_published_ones() -> None:
    """sqrt(max|x| / max|w|) at one half, the largest weight of both readers, then around 1."""
    readers = [np.float32([[1.0, -2.0], [0.5, 1.0]]), np.float32([[-4.0, 0.0]])]
    scales = smooth_scales(np.array([16.0, 2.0]), readers, 0.5)
    assert scales[0] / scales[1] == pytest.approx(np.sqrt(16 / 4) / np.sqrt(2 / 2))
    assert scales[0] * scales[1] == pytest.approx(1)


def outliers(out: Path) -> Path:
    """The tiny model with a few inputs 40 times as large, taken back in the weights: the same
    function, and what rounds inputs by whole tokens loses the others."""
    from safetensors.numpy import load_file, save_file

    shutil.copytree(tiny_dir(), out)
    (path,) = out.glob("*.safetensors")
    tensors = {name: value.astype(np.float32) for name, value in load_file(str(path)).items()}
    for name in [n for n in tensors if n.endswith("layernorm.weight")]:
        block = name.rsplit(".", 2)[0]
        readers = ("q_proj", "k_proj", "v_proj") if "input" in name else ("gate_proj", "up_proj")
        inside = "self_attn" if "input" in name else "mlp"
        for column in (5, 33):
            tensors[name][column] *= 40
            for reader in readers:
                tensors[f"{block}.{inside}.{reader}.weight"][:, column] /= 40
    save_file(tensors, str(path), metadata={"format": "pt"})
    return out


@pytest.mark.parametrize("activation_scheme", ["dynamic", "static"])
def test_smoothing_wins_back_what_outliers_cost(activation_scheme: str, tmp_path: Path) -> None:
    source = outliers(tmp_path / "outliers")
    params = {**PER_TENSOR, "weight_scale": "per_channel", "activation_scheme": activation_scheme}
    act(tmp_path / "plain", "smoothquant", {**params, "smoothing": 0.0}, parent=source)
    done = act(tmp_path / "smooth", "smoothquant", {**params, "smoothing": 0.6}, parent=source)
    plain, smooth = divergence(tmp_path / "plain"), divergence(tmp_path / "smooth")
    assert smooth < 0.5 * plain, (smooth, plain)
    assert any("input_layernorm to q_proj, k_proj" in note for note in done["notes"])
    assert done["activation_bits"] == 8


def test_the_tiny_model_keeps_its_function_but_for_rounding(tmp_path: Path) -> None:
    act(tmp_path / "child", "smoothquant", {"activation_scheme": "floats"})
    child = read(tmp_path / "child")
    assert {tensor.activation_bits for tensor in child.stored.values()} == {None}
    assert divergence(tmp_path / "child") < 1e-3
    norm = "model.layers.0.input_layernorm.weight"
    assert np.abs(child.floats[norm] - read(tiny_dir()).floats[norm]).max() > 0.01


def test_a_fixed_range_is_written_read_and_computed_with(tmp_path: Path) -> None:
    params = {"activation_scheme": "static", "smoothing": 0.0}
    act(tmp_path / "child", "smoothquant", params)
    config = json.loads((tmp_path / "child" / "config.json").read_text())
    declared = config["quantization_config"]["config_groups"]["group_0"]["input_activations"]
    assert (declared["strategy"], declared["dynamic"]) == ("tensor", False)
    child = read(tmp_path / "child")
    assert len(child.stored) == 14
    for tensor in child.stored.values():
        assert sum(part.nbytes for part in tensor.parts().values()) == tensor.formula_bytes()
    layer = "model.layers.1.mlp.down_proj"
    largest = float(inputs_of(layer).abs().max())
    scale = child.stored[layer].activation_scale
    assert scale == pytest.approx(largest / 127, rel=1e-5)
    model = load_dequantized(tmp_path / "child")[0]
    given, taken = [], []
    module = model.get_submodule(layer)
    module.register_forward_pre_hook(lambda _, inputs: taken.append(inputs[0]))
    probe = torch.arange(3, 30)[None]
    with torch.inference_mode():
        model(probe)
        steps = taken[0] / scale
        assert (steps - steps.round()).abs().max() < 1e-3
        with inputs_as_they_are(model):
            given.append(model(probe).logits)
        assert (model(probe).logits - given[0]).abs().max() > 1e-4


def inputs_of(layer: str) -> torch.Tensor:
    """Of the tiny model's layer, by all calibration windows."""
    from safetensors.torch import load_file

    seen: list[torch.Tensor] = []
    model = load_dequantized(tiny_dir())[0]
    model.get_submodule(layer).register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.inference_mode():
        model(load_file(str(calibration()))["input_ids"].long())
    return seen[0]


def test_what_lies_beyond_a_fixed_range_is_cut_off() -> None:
    rounded = round_static(torch.tensor([-3.0, -0.26, 0.24, 0.26, 300.0]), 0.5)
    assert rounded.tolist() == [-3.0, -0.5, 0.0, 0.5, 63.5]


@pytest.mark.parametrize(("scale", "groups"), [("per_tensor", 1), ("per_group", 2)])
def test_scales_of_weights(scale: str, groups: int, tmp_path: Path) -> None:
    params = {"weight_scale": scale, "group_size": 32, "smoothing": 0.0}
    act(tmp_path / "child", "smoothquant", params)
    tensor: Any = read(tmp_path / "child").stored["model.layers.0.self_attn.q_proj"]
    columns = tensor.ints.shape[1]
    assert tensor.scales.shape[1] == (1 if groups == 1 else columns // 32)
    assert (len(np.unique(tensor.scales)) == 1) == (scale == "per_tensor")
    source = read(tiny_dir()).weight("model.layers.0.self_attn.q_proj")
    step = np.repeat(tensor.scales, columns // tensor.scales.shape[1], axis=1)
    assert (np.abs(tensor.dequantize() - source) <= 0.51 * step).all()
