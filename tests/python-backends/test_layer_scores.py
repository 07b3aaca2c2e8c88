"""Scores of layers: what swapping a layer's weights costs by definition, whatever is reused."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from random_models import write_model
from tiny_model import calibration, tiny_dir

from pare_backends.calls.sensitivity import Request, run
from pare_backends.checkpoint import load_dequantized
from pare_backends.checkpoint.load import round_inputs
from pare_backends.failures import CallFailure
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.quantization.mixing import scores
from pare_backends.quantization.mixing.formats import Format, format_of

FORMATS = ["3-bit-g32", "2-bit-g64-asym", "4-bit", "int8-g32"]
SCORERS = ["kl", "fisher", "reconstruction"]
WINDOWS, TOKENS = 3, 40


def asked(**changed: Any) -> list[dict[str, Any]]:
    request: dict[str, Any] = {
        "artifact_dir": str(tiny_dir()),
        "calibration_path": str(calibration()),
        "formats": FORMATS,
        "scorers": SCORERS,
        "windows": WINDOWS,
        "tokens": TOKENS,
        "seed": 7,
    }
    found: list[dict[str, Any]] = run(Request(**{**request, **changed}), silent_report())["layers"]
    return found


@functools.cache
def scored() -> list[dict[str, Any]]:
    return asked()


def windows() -> torch.Tensor:
    from safetensors.torch import load_file

    return load_file(str(calibration()))["input_ids"].long()[:WINDOWS, :TOKENS]


def values(scorer: str) -> dict[tuple[str, str], float]:
    return {
        (row["layer"], row["format"]): row["value"] for row in scored() if row["scorer"] == scorer
    }


def other(name: str, layer: str, model: Any) -> Any:
    """The module, and its weight in the format."""
    module = model.get_submodule(layer)
    return module, torch.from_numpy(
        format_of(name).round(layer, module.weight.detach().numpy()).dequantize()
    )


def test_kl_is_that_of_the_whole_model_with_the_one_layer_swapped() -> None:
    model = load_dequantized(tiny_dir())[0]
    found = values("kl")
    assert len(found) == 15 * len(FORMATS)
    with torch.inference_mode():
        truth = model(windows()).logits.double().log_softmax(-1)
        for (layer, name), value in found.items():
            module, weight = other(name, layer, model)
            original, module.weight.data = module.weight.data, weight
            hooked = name.startswith("int8") and "embed" not in layer
            handle = module.register_forward_pre_hook(
                lambda m, given, hooked=hooked: (round_inputs(given[0], 32),) if hooked else None
            )
            guess = model(windows()).logits.double().log_softmax(-1)
            module.weight.data = original
            handle.remove()
            expected = float((truth.exp() * (truth - guess)).sum(-1).mean())
            assert value == pytest.approx(expected, abs=1e-5, rel=1e-4), (layer, name)
    assert min(found.values()) >= 0 and max(found.values()) > 1e-3


def test_fisher_is_half_the_change_squared_by_the_gradients_squared() -> None:
    model = load_dequantized(tiny_dir())[0]
    draws = torch.Generator().manual_seed(7)
    sums: dict[str, torch.Tensor] = {}
    layers = {row["layer"] for row in scored()}
    for window in windows():
        logits = model(window[None]).logits[0]
        words = torch.multinomial(logits.detach().softmax(-1), 1, generator=draws)
        loss = -logits.log_softmax(-1).gather(1, words).sum()
        for layer in layers:
            weight = model.get_submodule(layer).weight
            (gradient,) = torch.autograd.grad(loss, weight, retain_graph=True)
            sums[layer] = sums.get(layer, torch.zeros_like(weight)) + gradient.square()
    found = values("fisher")
    # int8 rounds inputs, too, which the gradients of weights do not see.
    assert len(found) == 15 * (len(FORMATS) - 1)
    for (layer, name), value in found.items():
        module, weight = other(name, layer, model)
        change = (weight - module.weight.detach()).square()
        expected = 0.5 * float((sums[layer] * change).sum()) / (WINDOWS * TOKENS)
        assert value == pytest.approx(expected, rel=1e-4), (layer, name)


def test_reconstruction_is_the_error_of_a_layers_own_outputs() -> None:
    model = load_dequantized(tiny_dir())[0]
    found = values("reconstruction")
    given: dict[str, torch.Tensor] = {}
    for layer in {layer for layer, _ in found}:
        model.get_submodule(layer).register_forward_pre_hook(
            lambda module, arguments, layer=layer: given.setdefault(layer, arguments[0])
        )
    with torch.inference_mode():
        model(windows())
        for (layer, name), value in found.items():
            module, weight = other(name, layer, model)
            inputs = given[layer]
            if "embed" in layer:
                before, after = module.weight[inputs], weight[inputs]
            else:
                rounded = round_inputs(inputs, 32) if name.startswith("int8") else inputs
                before, after = inputs @ module.weight.T, rounded @ weight.T
            expected = float((before - after).square().sum() / before.square().sum())
            assert value == pytest.approx(expected, rel=1e-3), (layer, name)


def test_rows_say_what_they_are_of() -> None:
    rows = scored()
    assert [row["layer_index"] for row in rows] == sorted(row["layer_index"] for row in rows)
    first = next(row for row in rows if row["scorer"] == "kl")
    assert first["layer"] == "model.layers.0.self_attn.q_proj" and first["part"] == "linear"
    assert first["format"] == "3-bit-g32" and first["n"] == WINDOWS * TOKENS
    assert first["size_bytes"] == 64 * 64 * 3 // 8 + 64 * 2 * 2 + 16
    assert first["weight_bits"] == pytest.approx(8 * first["size_bytes"] / 4096)
    assert {row["part"] for row in rows} == {"linear", "embedding"}
    groups: dict[int, set[str]] = {}
    for row in rows:
        groups.setdefault(row["shares_input"], set()).add(row["layer"].split(".", 3)[-1])
    assert {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"} in groups.values()
    assert {"mlp.gate_proj", "mlp.up_proj"} in groups.values()
    assert {"mlp.down_proj"} in groups.values()


def test_a_killed_pass_goes_on_with_the_same_scores(tmp_path: Path) -> None:
    short = {"formats": ["3-bit-g32"], "work_dir": str(tmp_path)}
    whole = asked(**short)
    path = tmp_path / "scores.jsonl"
    lines = [line for line in path.read_text().splitlines() if line]
    marked = json.loads(lines[0])
    marked["scores"][0]["value"] = 42.0
    path.write_text("\n".join([json.dumps(marked), *lines[1:5]]) + "\n" + lines[5][:30])
    again = asked(**short)
    assert again[0]["value"] == 42.0  # taken from the file, not measured again
    assert again[1:] == whole[1:]


@pytest.mark.parametrize("name", ["5-bit", "4-bit-g0", "4-bit-64", "int4", "", "4-BIT"])
def test_a_format_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(CallFailure, match="Cannot read the format"):
        format_of(name)


@pytest.mark.parametrize("name", [*FORMATS, "8-bit", "int8"])
def test_a_format_has_one_name(name: str) -> None:
    assert format_of(name).name == name
    assert isinstance(format_of(name), Format)


def test_what_cannot_be_scored_is_said_before_any_work() -> None:
    with pytest.raises(CallFailure, match="groups of 48 do not divide the row's 64 weights"):
        asked(formats=["4-bit-g48"])
    with pytest.raises(CallFailure, match="by 'hessian': it is one of kl, fisher"):
        asked(scorers=["hessian"])
    with pytest.raises(CallFailure, match="no format is named"):
        asked(formats=[])
    with pytest.raises(CallFailure, match="the study has 16 windows"):
        asked(windows=17)


@pytest.mark.parametrize("architecture", ["gpt2", "gpt_neox"])
def test_weights_as_in_out_and_a_head_of_its_own_are_scored_alike(
    architecture: str, tmp_path: Path
) -> None:
    directory = write_model(architecture, tmp_path / architecture)
    short = {"formats": ["3-bit-g32"], "scorers": ["kl"], "windows": 1}
    rows = asked(artifact_dir=str(directory), **short)
    model, layout = load_dequantized(directory)[0], layout_of(directory)
    assert {row["layer"] for row in rows} == set(layout.part("all"))
    assert ("head" in {row["part"] for row in rows}) == (architecture == "gpt_neox")
    with torch.inference_mode():
        truth = model(windows()[:1]).logits.double().log_softmax(-1)
        for row in rows:
            module = model.get_submodule(layout.modules[row["layer"]])
            original = module.weight.data
            turned = row["layer"] in layout.transposed
            matrix = (original.T if turned else original).contiguous().numpy()
            rounded = torch.from_numpy(
                format_of(row["format"]).round(row["layer"], matrix).dequantize()
            )
            module.weight.data = (rounded.T if turned else rounded).contiguous()
            guess = model(windows()[:1]).logits.double().log_softmax(-1)
            module.weight.data = original
            expected = float((truth.exp() * (truth - guess)).sum(-1).mean())
            assert row["value"] == pytest.approx(expected, abs=1e-6), row["layer"]


def test_a_model_of_no_numbers_is_told_and_not_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "divergence", lambda truth, guess: truth[:, 0].double() * torch.nan)
    with pytest.raises(CallFailure, match="q_proj as 4-bit by kl: it is nan") as caught:
        asked(formats=["4-bit"], scorers=["kl"], windows=1)
    assert caught.value.kind == "not_a_number"
