"""Architectures other than Llama's: what is quantized, how it lies in files, what it computes."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from random_models import configurations, write_model
from tiny_model import act, calibration
from transformers import AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D

from pare_backends.calls import verify
from pare_backends.calls.import_model import ImportModelRequest, run
from pare_backends.checkpoint import GridTensor, load_dequantized, read
from pare_backends.checkpoint.load import round_inputs
from pare_backends.failures import CallFailure
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.quantization.rounding import round_matrix

ALL = sorted(set(configurations(64)) - {"granitemoe"})
MIXTURES = ("mixtral", "qwen2_moe", "qwen3_moe")
RTN = {"bits": 4, "group_size": 32}
# out · in of the matrices of two blocks, by hand; 64 wide.
LINEAR = {
    "bloom": 2 * (192 * 64 + 64 * 64 + 2 * 256 * 64),
    "falcon": 2 * (128 * 64 + 64 * 64 + 2 * 256 * 64),
    "gpt2": 2 * (192 * 64 + 64 * 64 + 2 * 256 * 64),
    "gpt_neox": 2 * (192 * 64 + 64 * 64 + 2 * 128 * 64),
    "gptj": 2 * (4 * 64 * 64 + 2 * 256 * 64),
    "mixtral": 2 * (2 * 64 * 64 + 2 * 32 * 64 + 4 * 3 * 128 * 64),
    "opt": 2 * (4 * 64 * 64 + 2 * 128 * 64),
    "phi3": 2 * (128 * 64 + 64 * 64 + 3 * 128 * 64),
    "qwen2_moe": 2 * (2 * 64 * 64 + 2 * 32 * 64 + 4 * 3 * 64 * 64 + 3 * 96 * 64),
}


@functools.cache
def model_dir(architecture: str) -> Path:
    """A small random model, written once."""
    folder = Path(tempfile.mkdtemp(prefix=f"pare-{architecture}-"))
    return write_model(architecture, folder)


def facts(directory: Path) -> dict[str, Any]:
    request = ImportModelRequest(str(directory), str(directory / "none"), False)
    return run(request, silent_report())


def plain(directory: Path) -> Any:
    """The model as transformers alone loads it; its experts in the order of their formula."""
    model = AutoModelForCausalLM.from_pretrained(str(directory), dtype=torch.float32)
    if hasattr(model.config, "num_experts_per_tok"):
        model.set_experts_implementation("eager")
    return model.eval()


def logits(model: Any) -> torch.Tensor:
    with torch.inference_mode():
        return model(torch.arange(3, 43)[None]).logits


def quantized(parameter: torch.Tensor, **knobs: Any) -> torch.Tensor:
    """Rounded and multiplied out. parameter: (out, in)"""
    values = np.ascontiguousarray(parameter.detach().numpy())
    return torch.from_numpy(round_matrix("w", values, **knobs).dequantize())


def matrices(model: Any) -> list[tuple[torch.Tensor, bool]]:
    """The weights that compute (out, in), and whether they lie transposed; found by hand."""
    found: list[tuple[torch.Tensor, bool]] = []
    for name, module in model.named_modules():
        if isinstance(module, Conv1D):
            found.append((module.weight, True))
        elif isinstance(module, torch.nn.Linear) and module is not model.get_output_embeddings():
            found += [] if "shared_expert_gate" in name else [(module.weight, False)]
    for parameter in model.parameters():
        if parameter.dim() == 3:
            found += [(parameter[expert], False) for expert in range(len(parameter))]
    return found


def round_by_hand(model: Any, **knobs: Any) -> Any:
    with torch.no_grad():
        for weight, transposed in matrices(model):
            turned = weight.T if transposed else weight
            turned.copy_(quantized(turned, **knobs))
    return model


@pytest.mark.parametrize("architecture", ALL)
def test_rounding_is_that_of_every_matrix_of_the_model(architecture: str, tmp_path: Path) -> None:
    source = model_dir(architecture)
    result = act(tmp_path / "out", "rtn", RTN, parent=source)
    by_hand = round_by_hand(plain(source), bits=4, group_size=32, symmetric=True)
    child = load_dequantized(tmp_path / "out")[0]
    torch.testing.assert_close(logits(child), logits(by_hand), atol=1e-4, rtol=0)
    found = facts(source)
    values = sum(weight.numel() for weight, _ in matrices(plain(source)))
    assert found["linear_parameters"] == values
    assert found["linear_parameters"] == LINEAR.get(architecture, values)
    assert found["parameters"] == sum(p.numel() for p in plain(source).parameters())
    assert found["unpackable"] is None
    request = verify.VerifyRequest(str(tmp_path / "out"), str(source))
    assert verify.run(request, silent_report())["minimum_cosine"] > 0.99
    floats = sum(part["bytes"] for part in result["floats"])
    layout, stored = layout_of(source), read(tmp_path / "out").floats
    # transformers leaves what it renames in the type that files have, here of a float32 model.
    renamed = sum(int(stored[name].size) for name in layout.renamed & set(stored))
    assert floats == 2 * (found["parameters"] - found["linear_parameters"] + renamed)
    assert 0 <= result["size_bytes"] - result["formula_bytes"] < 20_000, "headers alone are extra"


@pytest.mark.parametrize("architecture", ["falcon", "gpt2", "gpt_neox", *MIXTURES])
def test_inputs_are_rounded_of_every_matrix(architecture: str, tmp_path: Path) -> None:
    source = model_dir(architecture)
    act(tmp_path / "out", "int8", {"activation_group_size": 32}, parent=source)
    child = load_dequantized(tmp_path / "out")[0]
    by_hand = round_by_hand(plain(source), bits=8, group_size=-1, symmetric=True)
    rounded = {weight.data_ptr() for weight, _ in matrices(by_hand)}
    for module in by_hand.modules():
        if isinstance(module, (Conv1D, torch.nn.Linear)) and module.weight.data_ptr() in rounded:
            module.register_forward_pre_hook(lambda _, given: (round_inputs(given[0], 32),))
    expected = logits_with_rounded_experts(by_hand, rounded)
    # A few inputs fall to the other side of a half where sums run in another order.
    assert (logits(child) - expected).abs().median() < 1e-5
    unrounded = logits(round_by_hand(plain(source), bits=8, group_size=-1, symmetric=True))
    assert (logits(child) - unrounded).abs().median() > 1e-3


def logits_with_rounded_experts(model: Any, rounded: set[int]) -> torch.Tensor:
    """Logits where products with an expert's own matrix round what comes in, too."""
    product = torch.nn.functional.linear
    linears = {m.weight.data_ptr() for m in model.modules() if isinstance(m, torch.nn.Linear)}

    def rounding(given: torch.Tensor, weight: torch.Tensor, bias: Any = None) -> torch.Tensor:
        experts = weight.data_ptr() in rounded - linears
        return product(round_inputs(given, 32) if experts else given, weight, bias)

    torch.nn.functional.linear = rounding
    try:
        return logits(model)
    finally:
        torch.nn.functional.linear = product


def divergence(source: Path, child: Path) -> float:
    """Mean KL divergence from the source on the calibration windows."""
    from safetensors.torch import load_file

    windows = load_file(str(calibration()))["input_ids"].long()
    with torch.inference_mode():
        truth = plain(source)(windows).logits.log_softmax(-1)
        guess = load_dequantized(child)[0](windows).logits.log_softmax(-1)
    return float((truth.exp() * (truth - guess)).sum(-1).mean())


@pytest.mark.parametrize("architecture", ["falcon", "gpt2", "gpt_neox", "qwen2_moe"])
def test_gptq_beats_rounding_where_it_was_calibrated(architecture: str, tmp_path: Path) -> None:
    source = model_dir(architecture)
    params = {"bits": 3, "group_size": 32, "samples": 16}
    result = act(tmp_path / "gptq", "gptq", params, parent=source)
    act(tmp_path / "rtn", "rtn", {"bits": 3, "group_size": 32, "clip": True}, parent=source)
    layout = layout_of(source)
    assert set(read(tmp_path / "gptq").stored) == set(layout.linear)
    assert divergence(source, tmp_path / "gptq") < 0.8 * divergence(source, tmp_path / "rtn")
    routed = [note for note in result["notes"] if "the routers send" in note]
    if architecture == "qwen2_moe":
        assert routed[0].startswith("of 1024 calibration tokens the routers send ")
        assert "by all tokens of its block" in routed[0]
    else:
        assert routed == []


@pytest.mark.parametrize("architecture", ["gpt2", "mixtral"])
def test_autoround_takes_them_too(architecture: str, tmp_path: Path) -> None:
    source = model_dir(architecture)
    params = {"bits": 4, "group_size": 32, "iters": 2, "samples": 4, "seqlen": 64}
    act(tmp_path / "out", "autoround", params, parent=source)
    assert set(read(tmp_path / "out").stored) == set(layout_of(source).linear)
    request = verify.VerifyRequest(str(tmp_path / "out"), str(source))
    assert verify.run(request, silent_report())["minimum_cosine"] > 0.98


@pytest.mark.parametrize("architecture", ["gpt_neox", "mixtral", "opt", "gptj"])
def test_transformers_loads_what_the_record_says_it_does(architecture: str, tmp_path: Path) -> None:
    result = act(tmp_path / "out", "rtn", RTN, parent=model_dir(architecture))
    assert result["loader"] == "transformers"
    theirs = AutoModelForCausalLM.from_pretrained(str(tmp_path / "out"))
    ours = load_dequantized(tmp_path / "out")[0]
    torch.testing.assert_close(logits(theirs).float(), logits(ours), atol=3e-2, rtol=0)


@pytest.mark.parametrize(
    ("architecture", "method", "said"),
    [
        ("gpt2", "rtn", "holds them transposed (Conv1D)"),
        ("gpt2", "int8", "holds them transposed (Conv1D)"),
        ("falcon", "rtn", "reads its weight by itself"),
        ("mixtral", "int8", "have their inputs rounded too"),
    ],
)
def test_what_transformers_does_not_load_fails_there_and_is_said(
    architecture: str, method: str, said: str, tmp_path: Path
) -> None:
    params = RTN if method == "rtn" else {"activation_group_size": 32}
    result = act(tmp_path / "out", method, params, parent=model_dir(architecture))
    assert result["loader"] == "pare" and said in result["notes"][0]
    # Loaded with random values in the place of the weights would be far worse than an error.
    with pytest.raises((AttributeError, RuntimeError, ValueError)):
        logits(AutoModelForCausalLM.from_pretrained(str(tmp_path / "out")))


def test_the_head_of_another_name_is_an_outer_layer(tmp_path: Path) -> None:
    layout = layout_of(model_dir("gpt_neox"))
    assert (layout.embedding, layout.head) == ("gpt_neox.embed_in", "embed_out")
    assert facts(model_dir("gpt_neox"))["tied_embeddings"] is False
    act(tmp_path / "out", "rtn", {**RTN, "targets": "all"}, parent=model_dir("gpt_neox"))
    child = read(tmp_path / "out")
    assert {"embed_out", "gpt_neox.embed_in"} < set(child.stored)
    assert load_dequantized(tmp_path / "out")[0].lm_head.weight.unique().numel() < 64 * 64
    again = layout_of(tmp_path / "out")
    assert (again.embedding, again.head, again.linear) == (
        layout.embedding,
        layout.head,
        layout.linear,
    )


def test_names_of_a_base_model_and_a_head_stored_twice(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    source = model_dir("gpt2")
    old = tmp_path / "old"
    old.mkdir()
    tensors = load_file(str(source / "model.safetensors"))
    renamed = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    renamed["lm_head.weight"] = renamed["wte.weight"].clone()
    renamed["h.0.attn.bias"] = torch.ones(1, 1, 8, 8)  # a mask that old files hold
    save_file(renamed, str(old / "model.safetensors"), metadata={"format": "pt"})
    for path in source.glob("*.json"):
        (old / path.name).write_bytes(path.read_bytes())
    layout = layout_of(old)
    assert (layout.embedding, layout.head, layout.head_copy) == ("wte", None, "lm_head")
    assert facts(old)["parameters"] == facts(source)["parameters"]
    act(tmp_path / "out", "rtn", RTN, parent=old)
    act(tmp_path / "new", "rtn", RTN, parent=source)
    torch.testing.assert_close(
        logits(load_dequantized(tmp_path / "out")[0]), logits(load_dequantized(tmp_path / "new")[0])
    )
    request = verify.VerifyRequest(str(tmp_path / "out"), str(old))
    assert verify.run(request, silent_report())["minimum_cosine"] > 0.99


def test_experts_in_one_tensor_are_refused_with_its_name(tmp_path: Path) -> None:
    source = model_dir("granitemoe")
    name = "model.layers.0.block_sparse_moe.input_linear.weight"
    assert facts(source)["unpackable"].startswith(f"{name} cannot be packed: its file holds all")
    for method, params in (("rtn", RTN), ("int8", {}), ("gptq", {}), ("autoround", {})):
        with pytest.raises(CallFailure, match=r"input_linear\.weight cannot be packed") as caught:
            act(tmp_path / method, method, params, parent=source)
        assert caught.value.kind == "invalid"
    params = {"bits": 8, "group_size": 32, "targets": "embedding"}
    result = act(tmp_path / "outer", "rtn", params, parent=source)
    assert result["floats"][0]["part"] == "expert"
    assert "expert 0.8 MB" in result["notes"][-1]  # renamed beside what is packed: 4 bytes each


def without(source: Path, out: Path, gone: str) -> Path:
    """A copy that lacks the tensors with `gone` in their names."""
    from safetensors.torch import load_file, save_file

    out.mkdir()
    tensors = load_file(str(source / "model.safetensors"))
    kept = {name: value for name, value in tensors.items() if gone not in name}
    assert len(kept) < len(tensors)
    save_file(kept, str(out / "model.safetensors"), metadata={"format": "pt"})
    for path in source.glob("*.json"):
        (out / path.name).write_bytes(path.read_bytes())
    return out


@pytest.mark.parametrize(
    ("architecture", "gone", "said"),
    [
        ("gpt2", "h.1.mlp.c_fc.weight", "no weight for transformer.h.1.mlp.c_fc"),
        ("gpt_neox", "embed_out", "no weight for lm_head"),
        ("mixtral", "layers.0.block_sparse_moe.experts.2.w3", "layers.0.mlp.experts.gate_up_proj"),
    ],
)
def test_a_missing_weight_is_told(architecture: str, gone: str, said: str, tmp_path: Path) -> None:
    broken = without(model_dir(architecture), tmp_path / "broken", gone)
    with pytest.raises(CallFailure, match="Cannot use") as caught:
        facts(broken)
    assert said in caught.value.message and caught.value.kind == "bad_input"


def test_no_parameter_is_left_at_random(tmp_path: Path) -> None:
    broken = without(model_dir("gpt2"), tmp_path / "broken", "ln_f.weight")
    with pytest.raises(CallFailure, match=r"hold nothing for transformer\.ln_f\.weight"):
        load_dequantized(broken)


def test_a_transposed_format_has_a_name_of_its_own(tmp_path: Path) -> None:
    act(tmp_path / "out", "rtn", RTN, parent=model_dir("gpt2"))
    config = json.loads((tmp_path / "out" / "config.json").read_text())["quantization_config"]
    assert config["format"] == "pack-quantized-transposed"
    tensor = read(tmp_path / "out").in_form(GridTensor)["transformer.h.0.attn.c_attn"]
    assert tensor.transposed and tensor.ints.shape == (192, 64)
    assert read(tmp_path / "out").weight("transformer.h.0.attn.c_attn").shape == (64, 192)
