"""Files for other libraries: the integers, zero points and scales that a trial has, in the layout
that each library documents, read here by decoders that share no code with the writers."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_models import write_model
from safetensors.numpy import load_file, save_file
from tiny_model import tiny_dir

from pare_backends.calls.conversion import check_conversion, convert
from pare_backends.checkpoint import Checkpoint, GridTensor, read, write
from pare_backends.conversion.formats import FORMATS
from pare_backends.failures import CallFailure
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.quantization.rounding import round_matrix

UP = "model.layers.1.mlp.up_proj"
Q = "model.layers.0.self_attn.q_proj"
K = "model.layers.0.self_attn.k_proj"
Grids = dict[str, tuple[int, int, bool]]


def layers() -> list[str]:
    names = read(tiny_dir()).floats
    return [n.removesuffix(".weight") for n in names if "_proj" in n]


def artifact(
    out: Path, bits: int = 4, group: int = 32, symmetric: bool = True, other: Grids | None = None
) -> Path:
    """The tiny model with every linear layer rounded, some otherwise; 16 bits: not at all."""
    source = read(tiny_dir())
    grids = {name: (bits, group, symmetric) for name in layers()} | (other or {})
    packed = {
        name: round_matrix(name, source.weight(name), *grid)
        for name, grid in grids.items()
        if grid[0] < 16
    }
    write(source.with_stored(packed), out)
    return out


def made(form: str, source: Path, out: Path) -> Path:
    convert.run(convert.Request(form, str(source), str(out)), silent_report())
    return out


def found(form: str, files: Path, source: Path) -> dict[str, Any]:
    request = check_conversion.Request(form, str(files), str(source))
    return check_conversion.run(request, silent_report())


def bits_of(words: np.ndarray, start: int, bits: int) -> int:
    """A number of a row of 32-bit words that are read as one long number, lowest bit first."""
    whole = sum(int(word) % (1 << 32) << (32 * place) for place, word in enumerate(words))
    return (whole >> start) % (1 << bits)


def gptq_weights(tensors: dict[str, np.ndarray], layer: str, bits: int, less: int) -> np.ndarray:
    """W[o, i] = scales[g_idx[i], o] · (q[i, o] − zeros[g_idx[i], o]), q packed down the
    inputs, zeros along the outputs, each stored `less` less."""
    words, zeros = tensors[f"{layer}.qweight"], tensors[f"{layer}.qzeros"]
    scales = tensors[f"{layer}.scales"].astype(np.float32)
    columns, rows = len(words) * 32 // bits, words.shape[1]
    order = tensors.get(f"{layer}.g_idx", np.arange(columns) // (columns // len(scales)))
    out = np.empty((rows, columns), np.float32)
    for o in range(rows):
        for i in range(columns):
            g = order[i]
            zero = bits_of(zeros[g], o * bits, bits) + less
            out[o, i] = scales[g, o] * (bits_of(words[:, o], i * bits, bits) - zero)
    return out


def awq_weights(tensors: dict[str, np.ndarray], layer: str) -> np.ndarray:
    """Eight outputs a word: those of nibbles 0 to 7 are 0, 2, 4, 6, 1, 3, 5, 7 of the eight."""
    words, zeros = tensors[f"{layer}.qweight"], tensors[f"{layer}.qzeros"]
    scales = tensors[f"{layer}.scales"].astype(np.float32)
    nibble = {output: place for place, output in enumerate((0, 2, 4, 6, 1, 3, 5, 7))}
    columns, rows = words.shape[0], words.shape[1] * 8
    group = columns // len(scales)
    out = np.empty((rows, columns), np.float32)
    for o in range(rows):
        shift = 4 * nibble[o % 8]
        for i in range(columns):
            q, z = (int(w[o // 8]) >> shift & 15 for w in (words[i], zeros[i // group]))
            out[o, i] = scales[i // group, o] * (q - z)
    return out


def quantization_config(files: Path) -> dict[str, Any]:
    return dict(json.loads((files / "config.json").read_text())["quantization_config"])


def written_weights(files: Path, layer: str, bits: int) -> np.ndarray:
    """By what the files themselves say of their zero points."""
    tensors = load_file(files / "model.safetensors")
    config = quantization_config(files)
    if config["quant_method"] == "awq":
        return awq_weights(tensors, layer)
    less = (config.get("checkpoint_format"), config.get("packing_format"))
    return gptq_weights(tensors, layer, bits, int("gptq" in less or "auto_round:auto_gptq" in less))


@pytest.mark.parametrize(
    ("form", "bits", "symmetric"),
    [
        ("gptq", 2, False),
        ("gptq", 3, True),
        ("gptq", 4, True),
        ("gptq", 8, False),
        ("auto-round", 3, False),
        ("auto-round", 4, True),
        ("awq", 4, True),
        ("awq", 4, False),
    ],
)
def test_a_decoder_from_the_documentation_reads_the_weights(
    tmp_path: Path, form: str, bits: int, symmetric: bool
) -> None:
    source = artifact(tmp_path / "artifact", bits, symmetric=symmetric)
    files = made(form, source, tmp_path / "files")
    held, tensors = read(source), load_file(files / "model.safetensors")
    assert np.array_equal(written_weights(files, K, bits), held.weight(K))
    assert np.array_equal(tensors["model.norm.weight"], held.floats["model.norm.weight"])


def test_gptq_has_its_first_zero_points_wherever_they_can_be_said(tmp_path: Path) -> None:
    """A zero point of 0 has no code in the first version of the format."""
    checkpoint = read(artifact(tmp_path / "artifact", symmetric=False))

    def version(lowest: int) -> str:
        for tensor in checkpoint.in_form(GridTensor).values():
            assert tensor.zero_points is not None
            np.maximum(tensor.zero_points, -7, out=tensor.zero_points)
            tensor.zero_points[0, 0] = lowest
        root = tmp_path / f"lowest{lowest}"
        write(checkpoint, root)
        files = made("gptq", root, tmp_path / f"files{lowest}")
        assert np.array_equal(written_weights(files, K, 4), checkpoint.weight(K))
        assert found("gptq", files, root)["layers"][0]["problem"] is None
        config = quantization_config(files)
        assert config == json.loads((files / "quantize_config.json").read_text())
        return str(config["checkpoint_format"])

    assert version(-7) == "gptq"
    assert version(-8) == "gptq_v2"


@pytest.mark.parametrize("form", ["gptq", "auto-round", "compressed-tensors"])
def test_the_librarys_own_layers_compute_the_same_of_mixed_bits(tmp_path: Path, form: str) -> None:
    other: Grids = {UP: (8, 32, True), Q: (3, 32, True), K: (16, 32, True)}
    source = artifact(tmp_path / "artifact", other=other)
    facts = found(form, made(form, source, tmp_path / "files"), source)
    assert facts["not_opened"] is None
    assert facts["opened_by"] is not None
    assert len(facts["layers"]) == len(layers()) - 1
    for row in facts["layers"]:
        assert row["problem"] is None, row
        assert row["claimed"] == row["found"], row
        assert row["opened_cosine"] > 0.9999, row
    assert facts["logits_cosine"] > 0.9999
    assert facts["generated_text"]
    assert facts["tensor_bytes"] == facts["formula_bytes"]
    assert facts["other_floats"] == []
    assert [Q, K, "model.layers.0.self_attn.v_proj"] in facts["fused_apart"]


def test_awq_is_generated_from_what_the_files_hold(tmp_path: Path) -> None:
    source = artifact(tmp_path / "artifact", other={UP: (16, 32, True)})
    files = made("awq", source, tmp_path / "files")
    assert quantization_config(files)["modules_to_not_convert"] == [UP]
    facts = found("awq", files, source)
    assert facts["opened_by"] is None
    assert facts["tensor_bytes"] == facts["formula_bytes"]
    assert all(row["problem"] is None and row["cosine"] > 0.9999999 for row in facts["layers"])
    assert facts["generated_text"]


def test_what_the_page_shows_loads_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[2] / "docs" / "elsewhere.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    source = artifact(tmp_path / "artifact")
    shown = [block for block in blocks if "import openvino" not in block]
    assert len(blocks) == len(shown) + 1  # test_conversion_openvino.py runs that one
    for block, form in zip(shown, ("compressed-tensors", "gguf", "gptq"), strict=True):
        folder = tmp_path / form
        made(form, source, folder / "served")
        (folder / "shown.py").write_text(block)
        monkeypatch.chdir(folder)
        ran = runpy.run_path("shown.py")
        assert ran["model"].config.num_hidden_layers == 2, form


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_gguf_file_is_what_transformers_reads_of_it(tmp_path: Path, symmetric: bool) -> None:
    """Its query and key rows stand in another order, its 3 bits are 4."""
    other: Grids = {UP: (3, 32, symmetric), K: (16, 32, True), Q: (8, 32, True)}
    source = artifact(tmp_path / "artifact", symmetric=symmetric, other=other)
    files = made("gguf", source, tmp_path / "files")
    assert [path.name for path in files.iterdir()] == ["model.gguf"]
    facts = found("gguf", files, source)
    assert facts["opened_by"] == "transformers gguf"
    assert facts["tensor_bytes"] == facts["formula_bytes"]
    assert facts["other_floats"] == []
    for row in facts["layers"]:
        assert row["problem"] is None, row
        assert min(row["cosine"], row["opened_cosine"]) > 0.99999, row
    assert facts["logits_cosine"] > 0.9999
    assert facts["generated_text"]


def test_a_broken_gguf_file_is_caught_by_name(tmp_path: Path) -> None:
    source = artifact(tmp_path / "artifact")
    others = artifact(tmp_path / "other", other={UP: (8, 32, True), Q: (3, 32, True)})
    files = made("gguf", others, tmp_path / "files")
    rows = {row["layer"]: row for row in found("gguf", files, source)["layers"]}
    assert "Q8_0" in rows[UP]["problem"]
    assert rows[Q]["cosine"] < 0.9999  # integers of another rounding, in blocks of the same kind
    assert [n for n, row in rows.items() if row["problem"] or row["cosine"] < 0.9999] == [Q, UP]
    octets = (files / "model.gguf").read_bytes()
    (files / "model.gguf").write_bytes(octets[: len(octets) // 2])
    assert "model.gguf cannot be read" in found("gguf", files, source)["unreadable"]
    (files / "model.gguf").unlink()
    assert "model.gguf is missing" in found("gguf", files, source)["unreadable"]


@pytest.mark.parametrize("part", ["scales", "integers"])
def test_a_layer_of_a_gguf_file_with_wrong_parts_is_caught_by_name(
    tmp_path: Path, part: str
) -> None:
    """Blocks of 32 at 4 bits: two bytes of scale, then sixteen of integers."""
    from gguf import GGUFReader

    source = artifact(tmp_path / "artifact")
    files = made("gguf", source, tmp_path / "files")
    reader = GGUFReader(files / "model.gguf", "r+")
    data = {tensor.name: tensor.data for tensor in reader.tensors}
    up, other = (data[f"blk.{n}.ffn_up.weight"].reshape(-1, 18) for n in (1, 0))
    if part == "scales":
        up[:, :2] = other[:, :2]
    else:
        up[:, 2:] = up[::-1, 2:].copy()
    reader.data.flush()
    del reader, data, up, other
    facts = found("gguf", files, source)
    bad = [
        row["layer"]
        for row in facts["layers"]
        if row["problem"] is not None or not row["cosine"] >= 0.9999
    ]
    assert bad == [UP]
    assert facts["logits_cosine"] < 0.9999


@pytest.mark.parametrize("form", list(FORMATS))
def test_broken_files_are_caught_by_name(tmp_path: Path, form: str) -> None:
    source = artifact(tmp_path / "artifact")
    whole = made(form, source, tmp_path / "whole")
    own = {"compressed-tensors": (".weight_packed", ".weight_scale")}
    ints, scales = own.get(form, (".qweight", ".scales"))

    def broken(name: str, change: Callable[[dict[str, np.ndarray]], None]) -> dict[str, Any]:
        files = shutil.copytree(whole, tmp_path / name)
        tensors = load_file(files / "model.safetensors")
        change(tensors)
        save_file(tensors, files / "model.safetensors", metadata={"format": "pt"})
        facts = found(form, files, source)
        bad = [row for row in facts["layers"] if row["problem"] is not None]
        assert [row["layer"] for row in bad] == [Q], name
        return dict(bad[0])

    def of_another_layer(tensors: dict[str, np.ndarray]) -> None:
        tensors[f"{Q}{scales}"] = tensors[f"{Q.replace('layers.0', 'layers.1')}{scales}"]

    def in_another_order(tensors: dict[str, np.ndarray]) -> None:
        words = tensors[f"{Q}{ints}"]
        tensors[f"{Q}{ints}"] = np.ascontiguousarray(words[::-1])

    def gone(tensors: dict[str, np.ndarray]) -> None:
        del tensors[f"{Q}{scales}"]

    row = broken("scales", of_another_layer)
    assert row["problem"] == "its scales are not those of its source"
    assert row["cosine"] < 0.9999
    row = broken("order", in_another_order)
    assert row["problem"] == "its integers are not those of its source"
    assert row["cosine"] < 0.9999
    assert scales.removeprefix(".") in broken("gone", gone)["problem"]


@pytest.mark.parametrize("form", list(FORMATS))
def test_a_wrong_configuration_and_a_missing_shard_are_caught(tmp_path: Path, form: str) -> None:
    source = artifact(tmp_path / "artifact")
    files = made(form, source, tmp_path / "files")
    config = json.loads((files / "config.json").read_text())
    words = config["quantization_config"]
    if form == "compressed-tensors":
        words["config_groups"]["group_0"]["weights"]["num_bits"] = 8
    else:
        words["bits"] = 8
    (files / "config.json").write_text(json.dumps(config))
    row = found(form, files, source)["layers"][0]
    assert row["claimed"].startswith("8 bits")
    assert row["problem"] is not None or row["found"].startswith("4 bits")
    tensors = load_file(files / "model.safetensors")
    (files / "model.safetensors").unlink()
    places = {name: f"model-0000{1 + (Q in name)}-of-00002.safetensors" for name in tensors}
    (files / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    first = {name: values for name, values in tensors.items() if Q not in name}
    save_file(first, files / "model-00001-of-00002.safetensors")
    assert "model-00002-of-00002" in found(form, files, source)["unreadable"]


def refusal(form: str, source: Path, out: Path) -> str:
    with pytest.raises(CallFailure) as caught:
        made(form, source, out)
    assert not out.exists()
    return caught.value.message


def test_what_a_format_cannot_hold_is_refused_before_work(tmp_path: Path) -> None:
    out = tmp_path / "files"
    three = artifact(tmp_path / "three", other={UP: (3, 32, True)})
    assert f"{UP} has integers of 3 bits" in refusal("awq", three, out)
    mixed = artifact(tmp_path / "mixed", other={UP: (4, 16, True)})
    assert "are rounded in other groups" in refusal("awq", mixed, out)
    for form in FORMATS:
        assert "no layer of it is packed" in refusal(form, tiny_dir(), out)
    checkpoint = read(tiny_dir())
    packed = round_matrix("embedding", checkpoint.weight("model.embed_tokens"), 4, 32, True)
    held: Checkpoint = checkpoint.with_stored({"model.embed_tokens": packed})
    write(held, tmp_path / "embedding")
    for form in FORMATS:
        assert "model.embed_tokens" in refusal(form, tmp_path / "embedding", out)
    with pytest.raises(CallFailure, match="auto-round"):
        made("auto-rund", three, out)


def rounded(architecture: str, out: Path) -> Path:
    """A small random model with all its linear layers rounded."""
    model = write_model(architecture, out / architecture)
    source, layout = read(model), layout_of(model)
    packed = {}
    for name in layout.linear:
        turned = name in layout.transposed
        weight = source.weight(name)
        held = round_matrix(name, weight.T if turned else weight, 4, 32, True)
        packed[name] = replace(held, transposed=turned)
    write(source.with_stored(packed), out / f"{architecture}-4")
    return out / f"{architecture}-4"


def test_transposed_layers_and_biases_are_held(tmp_path: Path) -> None:
    for architecture, forms in (("gpt2", ["gptq"]), ("qwen2", ["auto-round", "gguf"])):
        source = rounded(architecture, tmp_path)
        for form in forms:
            facts = found(form, made(form, source, tmp_path / f"{architecture}-{form}"), source)
            assert facts["logits_cosine"] > 0.9999, (architecture, form)
            assert all(row["opened_cosine"] > 0.9999 for row in facts["layers"])
    for form in ("awq", "compressed-tensors"):
        assert "Conv1D" in refusal(form, tmp_path / "gpt2-4", tmp_path / "files")


def test_layers_that_a_library_would_fill_at_random_are_refused(tmp_path: Path) -> None:
    """Of Falcon's own class of Linear auto-round leaves random weights, and says nothing."""
    falcon, experts = rounded("falcon", tmp_path), rounded("mixtral", tmp_path)
    for form in FORMATS:
        message = refusal(form, falcon, tmp_path / "files")
        assert "reads its weight by itself" in message, message
        assert "is an expert's" in refusal(form, experts, tmp_path / "files")


def test_a_library_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = artifact(tmp_path / "artifact")
    files = made("auto-round", source, tmp_path / "files")

    def fails(directory: Path) -> None:
        raise RuntimeError("no kernel")

    monkeypatch.setattr("pare_backends.conversion.auto_round.open_by_auto_round", fails)
    facts = found("auto-round", files, source)
    assert facts["not_opened"] == "RuntimeError: no kernel"
    assert facts["generated_text"]
