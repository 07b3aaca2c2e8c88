"""AutoScheme's delta loss: what auto_round itself writes of the same model and text, and nothing
left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from random_models import write_model
from test_gptq import divergence
from tiny_model import act, calibration, tiny_dir

from pare_backends.calls.sensitivity import Request, run
from pare_backends.checkpoint import load_dequantized, read
from pare_backends.progress import silent_report
from pare_backends.quantization.mixing import delta_loss
from pare_backends.quantization.mixing.delta_loss import delta_losses, given
from pare_backends.quantization.mixing.formats import Format

GRIDS = [Format(3, 32), Format(4, -1), Format(2, 64, symmetric=False)]
PARAMS = {"average_bits": 3.75, "layer_bits": "2-3-4-8", "group_size": 32, "seqlen": 64}


def windows() -> torch.Tensor:
    from safetensors.torch import load_file

    return load_file(str(calibration()))["input_ids"].long()[:3, :40]


def by_auto_round(model: Any, names: list[str], folder: Path) -> list[Path]:
    """The score files that AutoScheme keeps, one a scheme, as AutoRound itself has them made."""
    from auto_round import AutoScheme
    from auto_round.auto_scheme import delta_loss as library
    from auto_round.auto_scheme.gen_auto_scheme import GenScheme
    from auto_round.schemes import QuantizationScheme

    scheme = AutoScheme(
        avg_bits=3.5,
        ignore_scale_zp_bits=True,
        options=[
            QuantizationScheme(one.bits, one.group_size, one.symmetric, act_bits=16)
            for one in GRIDS
        ],
        nsamples=3,
        seqlen=40,
        device_map="cpu",
        enable_torch_compile=False,
        low_gpu_mem_usage=False,
        low_cpu_mem_usage=False,
    )
    before = os.environ.get("AR_AUTO_SCHEME_CACHE")
    os.environ["AR_AUTO_SCHEME_CACHE"] = str(folder)
    try:
        with given(library, windows()):
            GenScheme(scheme, model, names, {}, "pile-10k", "cpu", object()).get_layer_config()
    finally:
        os.environ.pop("AR_AUTO_SCHEME_CACHE")
        if before is not None:
            os.environ["AR_AUTO_SCHEME_CACHE"] = before
    return sorted(folder.glob("scheme_*.json"))


def test_the_losses_are_those_of_auto_rounds_own_files(tmp_path: Path) -> None:
    model = load_dequantized(tiny_dir())[0].eval()
    names = [
        name for name, one in model.named_modules() if "proj" in name and hasattr(one, "weight")
    ]
    found = delta_losses(model, {name: name for name in names}, GRIDS, windows())
    files = by_auto_round(load_dequantized(tiny_dir())[0].eval(), names, tmp_path)
    assert len(files) == len(GRIDS)
    for path in files:
        held = json.loads(path.read_text())
        scheme = held["scheme"]
        grid = Format(scheme["bits"], scheme["group_size"], scheme["sym"])
        assert sorted(held["layer_scores"]) == sorted(names)
        for name, (_, loss) in held["layer_scores"].items():
            assert found[grid.name][name] == pytest.approx(loss, rel=1e-6)
    assert len({loss for own in found.values() for loss in own.values()}) == len(names) * len(GRIDS)


def test_the_model_is_left_as_it_was() -> None:
    model = load_dequantized(tiny_dir())[0].eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    kinds = {name: type(module) for name, module in model.named_modules()}
    wanted = [one.requires_grad for one in model.parameters()]
    attributes = set(vars(model.model.layers[0].mlp.up_proj))
    delta_losses(model, {"up": "model.layers.0.mlp.up_proj"}, GRIDS[:1], windows())
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    assert {name: type(module) for name, module in model.named_modules()} == kinds
    assert [one.requires_grad for one in model.parameters()] == wanted
    assert all(one.grad is None for one in model.parameters())
    assert set(vars(model.model.layers[0].mlp.up_proj)) == attributes


def test_a_killed_pass_goes_on_after_its_last_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_dequantized(tiny_dir())[0].eval()
    modules = {"up": "model.layers.0.mlp.up_proj"}
    kept = tmp_path / "delta_losses.json"
    whole = delta_losses(model, modules, GRIDS, windows())
    done: list[int] = []
    delta_losses(model, modules, GRIDS[:2], windows(), kept, done.append)
    assert done == [1, 2, 3, 3, 4, 5, 6, 6]
    passes: list[str] = []
    original = delta_loss.losses_in

    def counted(*given: Any) -> dict[str, float]:
        passes.append(given[2].name)
        return original(*given)

    monkeypatch.setattr(delta_loss, "losses_in", counted)
    assert delta_losses(model, modules, GRIDS, windows(), kept) == whole
    assert passes == [GRIDS[2].name]
    kept.write_text(kept.read_text()[:20])  # torn
    assert delta_losses(model, modules, GRIDS, windows(), kept) == whole


def scored(folder: Path, formats: list[str]) -> list[dict[str, Any]]:
    request = Request(
        artifact_dir=str(folder),
        calibration_path=str(calibration()),
        formats=formats,
        scorers=["auto_scheme"],
        windows=2,
        tokens=40,
        seed=7,
    )
    found: list[dict[str, Any]] = run(request, silent_report())["layers"]
    return found


@pytest.mark.parametrize("family", ["mixtral", "gpt2", "gemma3"])
def test_layers_of_other_architectures_are_scored(family: str, tmp_path: Path) -> None:
    folder = write_model(family, tmp_path / family)
    rows = scored(folder, ["4-bit-g32", "2-bit-g32", "int8"])
    assert {row["format"] for row in rows} == {"4-bit-g32", "2-bit-g32"}  # no inputs are rounded
    assert {row["part"] for row in rows} <= {"linear", "head"}  # and no embedding is a layer there
    values = {(row["layer"], row["format"]): row["value"] for row in rows}
    layers = {layer for layer, _ in values}
    worse = [values[layer, "2-bit-g32"] > values[layer, "4-bit-g32"] for layer in layers]
    assert sum(worse) > 0.9 * len(worse)


@pytest.mark.parametrize("rounded_by", ["rtn", "autoround"])
def test_a_mix_by_auto_scheme_is_rounded_as_asked(rounded_by: str, tmp_path: Path) -> None:
    asked = {**PARAMS, "scored_by": "auto_scheme", "rounded_by": rounded_by}
    result = act(tmp_path / "mix", "mixed", asked)
    stored = read(tmp_path / "mix").stored
    assert 3.70 < result["weight_bits"] <= 3.75
    assert len({tensor.bits for tensor in stored.values()}) > 1
    assert any("mixed by auto_scheme" in note for note in result["notes"])
    told = {
        row["layer"]: row["value"] for row in result["figures"] if row["metric"] == "stored_bits"
    }
    assert {layer: tensor.bits for layer, tensor in stored.items()} == told
    act(tmp_path / "three", "rtn", {"bits": 3, "group_size": 32, "clip": True})
    assert divergence(tmp_path / "mix") < divergence(tmp_path / "three")
