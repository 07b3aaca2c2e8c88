"""Checkpoints whose columns stand in another order than their groups, as GPTQ's `desc_act` and
compressed-tensors' `actorder: group` leave them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from test_conversion import artifact, layers, made, round_matrix
from test_elsewhere import inspected, refusal, said, taken
from tiny_model import tiny_dir

from pare_backends.calls import import_model
from pare_backends.calls.conversion import convert
from pare_backends.checkpoint import read
from pare_backends.checkpoint.forms import GridTensor, OrderedTensor
from pare_backends.conversion.formats import FORMATS
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report

GROUP = 32


def ordered_layer(
    name: str, weight: np.ndarray, symmetric: bool
) -> tuple[GridTensor, np.ndarray, np.ndarray]:
    """(integers in the model's order of columns, the group of each, what they stand for)."""
    columns = weight.shape[1]
    taken_first = np.random.default_rng(len(name)).permutation(columns)
    grid = round_matrix(name, np.ascontiguousarray(weight[:, taken_first]), 4, GROUP, symmetric)
    ints, wanted = np.empty_like(grid.ints), np.empty_like(weight)
    groups = np.empty(columns, np.int32)
    ints[:, taken_first], wanted[:, taken_first] = grid.ints, grid.dequantize()
    groups[taken_first] = np.arange(columns) // GROUP
    return replace(grid, ints=ints), groups, wanted


def ordered_files(form: str, symmetric: bool, tmp_path: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """Files of the tiny model, each linear layer in an order of its own, and their weights."""
    source = artifact(tmp_path / "source", 4, GROUP, symmetric)
    files = shutil.copytree(source, tmp_path / "files")
    if form == "gptq":
        files = made("gptq", source, tmp_path / "gptq")
        config = json.loads((files / "config.json").read_text())
        quantized = {**config["quantization_config"], "desc_act": True}
        said(files, {"quantization_config": quantized})
    config = json.loads((files / "config.json").read_text())["quantization_config"]
    tensors, weights, original = load_file(files / "model.safetensors"), {}, read(tiny_dir())
    for layer in layers():
        grid, groups, weights[layer] = ordered_layer(layer, original.weight(layer), symmetric)
        own = FORMATS["gptq"].parts(grid, config) if form == "gptq" else grid.parts()
        order = ".g_idx" if form == "gptq" else ".weight_g_idx"
        for ending, values in {**own, order: groups}.items():
            tensors[f"{layer}{ending}"] = np.ascontiguousarray(values)
    save_file(tensors, files / "model.safetensors")
    return files, weights


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("form", ["gptq", "compressed-tensors"])
def test_columns_in_another_order_than_their_groups_stand_for_the_files_numbers(
    form: str, symmetric: bool, tmp_path: Path
) -> None:
    files, weights = ordered_files(form, symmetric, tmp_path)
    facts = inspected(files)["facts"]
    words = {"form": "ordered", "bits": 4, "group_size": GROUP, "symmetric": symmetric}
    assert words in facts["forms"]["linear"]
    result = taken(files, tmp_path / "taken")
    predicted = sum(facts["weight_bytes"].values())
    assert abs(predicted - result["formula_bytes"]) <= 0.01 * predicted
    own = read(tmp_path / "taken")
    for layer, wanted in weights.items():
        tensor = own.stored[layer]
        assert isinstance(tensor, OrderedTensor)
        written = sum(part.nbytes for part in tensor.parts().values())
        assert written == tensor.formula_bytes() < wanted.size
        assert np.allclose(own.weight(layer), wanted, rtol=2e-3, atol=1e-6)


def test_what_is_converted_from_it_or_decoded_has_the_same_numbers(tmp_path: Path) -> None:
    files, weights = ordered_files("gptq", True, tmp_path)
    asked = import_model.ImportModelRequest(str(files), str(tmp_path / "decoded"), False)
    import_model.run(asked, silent_report())
    decoded = read(tmp_path / "decoded")
    for layer, wanted in weights.items():
        assert np.allclose(decoded.weight(layer), wanted, rtol=2e-3, atol=1e-6)
    taken(files, tmp_path / "taken")
    request = convert.Request("gptq", str(tmp_path / "taken"), str(tmp_path / "again"))
    with pytest.raises(CallFailure, match="stored as ordered, and it holds"):
        convert.run(request, silent_report())


def test_an_order_that_names_no_whole_groups_is_refused(tmp_path: Path) -> None:
    files, _ = ordered_files("gptq", True, tmp_path)
    tensors = load_file(files / "model.safetensors")
    name = f"{layers()[0]}.g_idx"
    for changed, why in (
        (np.zeros_like(tensors[name]), "has groups of different sizes"),
        (tensors[name] + 100, "names the groups of"),
        (tensors[name][:-1], "names the groups of"),
    ):
        save_file({**tensors, name: changed}, files / "model.safetensors")
        assert why in refusal(files)
