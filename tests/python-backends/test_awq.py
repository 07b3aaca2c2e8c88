"""`awq`: scales that leave the function as it is, outputs that err no more than rounded ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_gptq import divergence
from tiny_model import act, calibration, tiny_dir

from pare_backends.checkpoint import read
from pare_backends.quantization.folding.folds import find_folds
from pare_backends.quantization.folding.scaling import Scaling, usable_scales


def small(**more: Any) -> Any:
    """A Llama of random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(**{**sizes, **heads, **more})
    model = LlamaForCausalLM(config).eval()
    for parameter in model.parameters():  # norms of 1 and biases of 0 would hide what is left out
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def modules_of(model: Any) -> dict[str, str]:
    from pare_backends.models.roles import linear_modules

    return {found.module: found.module for found in linear_modules(model)}


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("heads", [2, 4])
def test_folds_leave_the_function_as_it_is(heads: int, biases: bool) -> None:
    model = small(num_key_value_heads=heads, attention_bias=biases, mlp_bias=biases)
    tokens = torch.arange(16)[None]
    modules = modules_of(model)
    folds = find_folds(model, modules, frozenset(), tokens)
    kinds = {fold.kind for fold in folds.folds}
    norms = {
        "input_layernorm to q_proj, k_proj, v_proj",
        "post_attention_layernorm to gate_proj, up_proj",
    }
    # Of grouped heads a value meets several columns: o_proj is left.
    assert kinds == norms | {"up_proj to down_proj"} | (
        {"v_proj to o_proj"} if heads == 4 else set()
    )
    assert {name.rsplit(".", 1)[-1] for name in folds.unscaled} == (
        set() if heads == 4 else {"o_proj"}
    )
    before = model.double()(tokens).logits.detach()
    held = {name: value.numpy() for name, value in model.state_dict().items()}
    scaling = Scaling(model, modules, checkpoint_of(held))
    chance = np.random.default_rng(0)
    for fold in folds.folds:
        assert scaling.can_fold(fold)
        width = model.get_submodule(fold.readers[0]).weight.shape[1]
        scaling.fold(fold, usable_scales(np.exp(chance.normal(size=width))))
    after = folded(model.double(), scaling, tokens)
    # Biases are stored in float16 alone, which is no matter of the fold.
    limit = 1e-3 if biases else 1e-5
    assert float((after - before).abs().max()) <= limit * float(before.abs().max())


def checkpoint_of(floats: dict[str, np.ndarray]) -> Any:
    from pare_backends.checkpoint import Checkpoint

    return Checkpoint({}, (), {}, floats)


def folded(model: Any, scaling: Scaling, tokens: torch.Tensor) -> torch.Tensor:
    """Logits with what is folded in the place of the weights."""
    state = {name: value.double() for name, value in model.state_dict().items()}
    for name, value in scaling.floats.items():
        state[name] = torch.from_numpy(value).double()
    for layer in scaling.modules:
        state[f"{layer}.weight"] = torch.from_numpy(scaling.weight(layer)).double()
    model.load_state_dict(state)
    logits: torch.Tensor = model(tokens).logits.detach()
    return logits


def inputs_of(layers: list[str]) -> dict[str, torch.Tensor]:
    """What layers of the tiny model are given by the calibration windows: (tokens, in)."""
    from safetensors.torch import load_file

    from pare_backends.checkpoint import load_dequantized

    seen: dict[str, torch.Tensor] = {}
    model = load_dequantized(tiny_dir())[0]
    for layer in layers:
        model.get_submodule(layer).register_forward_pre_hook(
            lambda module, given, layer=layer: seen.update({layer: given[0].flatten(0, -2)})
        )
    with torch.inference_mode():
        model(load_file(str(calibration()))["input_ids"].long())
    return seen


@pytest.mark.parametrize("clip", [False, True])
def test_no_layer_errs_more_than_rounded(clip: bool, tmp_path: Path) -> None:
    grid = {"bits": 3, "group_size": 32, "clip": clip}
    act(tmp_path / "awq", "awq", grid)
    act(tmp_path / "rtn", "rtn", grid)
    source, awq, rtn = (read(p) for p in (tiny_dir(), tmp_path / "awq", tmp_path / "rtn"))
    layers = [name for name in rtn.stored if not name.endswith(("up_proj", "down_proj"))]
    given, better = inputs_of(layers), 0
    for layer in layers:
        block = layer.rsplit(".", 2)[0]
        norm = "input_layernorm" if "self_attn" in layer else "post_attention_layernorm"
        name = f"{block}.{norm}.weight"
        scales = np.asarray(source.floats[name], np.float64) / awq.floats[name].astype(np.float64)
        scales = np.ones(1) if layer.endswith("o_proj") else scales
        truth = source.weight(layer)
        errors = [
            float((given[layer] @ torch.from_numpy((weight - truth).T).float()).square().sum())
            for weight in (awq.weight(layer) / scales, rtn.weight(layer))
        ]
        assert errors[0] <= errors[1] * 1.001, layer
        better += errors[0] < 0.98 * errors[1]
    assert better >= (len(layers) // 2 if clip else 1)


@pytest.mark.parametrize("bits", [3, 4])
def test_it_stays_closer_to_the_source_than_rounding(bits: int, tmp_path: Path) -> None:
    result = act(tmp_path / "awq", "awq", {"bits": bits, "group_size": 32})
    act(tmp_path / "rtn", "rtn", {"bits": bits, "group_size": 32, "clip": True})
    ours, plain = divergence(tmp_path / "awq"), divergence(tmp_path / "rtn")
    assert ours < plain
    assert any("unscaled" in note and "o_proj (2 layers)" in note for note in result["notes"])
