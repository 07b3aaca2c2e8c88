"""Checkpoints that were made elsewhere: taken with the numbers that their files hold, or refused in
a sentence before any work."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGUFReader
from random_models import write_model
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_tensors
from test_conversion import artifact, layers, made, rounded
from test_conversion_bitsandbytes import coded
from test_gguf_import import rewritten
from tiny_model import action, tiny_dir

from pare_backends.calls import apply, import_model, inspect_given
from pare_backends.checkpoint import read, write
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.checkpoint.soundness import cosine
from pare_backends.models.layout import layout_of
from pare_backends.models.sources import other_file_hint
from pare_backends.progress import silent_report

UP = "model.layers.1.mlp.up_proj"


def inspected(path: Path, original: Path | None = None) -> dict[str, Any]:
    request = inspect_given.InspectGivenRequest(str(original or tiny_dir()), [str(path)])
    found: dict[str, Any] = inspect_given.run(request, silent_report())["given"][0]
    return found


def refusal(path: Path, original: Path | None = None) -> str:
    found = inspected(path, original)
    assert found["facts"] is None
    problem: str = found["problem"]
    assert problem.startswith("Cannot ")
    assert "\n" not in problem
    return problem


def taken(path: Path, out: Path, original: Path | None = None) -> dict[str, Any]:
    """The checkpoint at `path` as an artifact in `out`."""
    params = {"file": path.name, "content": "0" * 16}
    asked = action(out, "elsewhere", "as_given", params, original, given_path=path)
    return apply.run(asked, silent_report())


def copied(source: Path, out: Path) -> Path:
    shutil.copytree(source, out)
    return out


def gguf_of(source: Path, out: Path) -> Path:
    made("gguf", source, out)
    return out / "model.gguf"


@pytest.mark.parametrize(
    ("form", "grid", "kind"),
    [
        ("gptq", (4, 32, False), "gptq"),
        ("gptq", (3, 32, True), "gptq"),
        ("awq", (4, 32, False), "awq"),
        ("auto-round", (4, 32, True), "auto-round"),
        ("compressed-tensors", (8, -1, True), "compressed-tensors"),
        ("gguf", (4, 32, True), "GGUF"),
    ],
)
def test_packed_layers_stand_for_the_same_numbers(
    form: str, grid: tuple[int, int, bool], kind: str, tmp_path: Path
) -> None:
    source = artifact(tmp_path / "source", *grid)
    files = made(form, source, tmp_path / "files")
    path = files / "model.gguf" if form == "gguf" else files
    found = inspected(path)
    assert found["problem"] is None
    facts = found["facts"]
    assert facts["kind"] == kind
    result = taken(path, tmp_path / "taken")
    predicted = sum(facts["weight_bytes"].values())
    assert abs(predicted - result["formula_bytes"]) <= 0.01 * predicted
    own, wanted = read(tmp_path / "taken"), read(source)
    assert set(own.stored) >= set(wanted.stored)
    for layer in layers():
        assert np.allclose(own.weight(layer), wanted.weight(layer), rtol=2e-3, atol=1e-6)
    for name in wanted.floats:
        if name in own.floats:
            assert np.allclose(own.floats[name], wanted.floats[name], rtol=2e-3, atol=1e-6)
    bits = {one["bits"] for one in facts["forms"]["linear"]}
    assert bits == ({4.5} if form == "gguf" else {grid[0]})


@pytest.mark.parametrize("kind", ["nf4", "nf4_double", "fp4"])
def test_bitsandbytes_codes_are_taken(kind: str, tmp_path: Path) -> None:
    source = coded(tmp_path / "source", kind)
    files = made("bitsandbytes", source, tmp_path / "files")
    facts = inspected(files)["facts"]
    assert facts["forms"]["linear"][0]["format"] == kind.removesuffix("_double")
    taken(files, tmp_path / "taken")
    own, wanted = read(tmp_path / "taken"), read(source)
    for layer in wanted.stored:
        assert np.array_equal(own.weight(layer), wanted.weight(layer))


@pytest.mark.parametrize("by", ["matrix", "row", "block"])
def test_8_bit_floats_are_taken(by: str, tmp_path: Path) -> None:
    """torch's own float8, scaled as compressed-tensors and transformers' fp8 scale it."""
    files = copied(tiny_dir(), tmp_path / "fp8")
    tensors = {k: torch.from_numpy(v) for k, v in load_file(files / "model.safetensors").items()}
    wanted = {}
    for layer in layers():
        weight = tensors.pop(f"{layer}.weight").float()
        rows, columns = weight.shape
        shape = {"matrix": (1, 1), "row": (rows, 1), "block": (-(-rows // 32), columns // 32)}[by]
        high, wide = -(-rows // shape[0]), columns // shape[1]
        scale = torch.empty(shape)
        whole = torch.empty_like(weight)
        for r in range(shape[0]):
            for c in range(shape[1]):
                part = (slice(r * high, (r + 1) * high), slice(c * wide, (c + 1) * wide))
                scale[r, c] = weight[part].abs().max() / 448
                whole[part] = scale[r, c]
        codes = (weight / whole).to(torch.float8_e4m3fn)
        wanted[layer] = (codes.float() * whole).numpy()
        tensors[f"{layer}.weight"] = codes
        end = "weight_scale_inv" if by == "block" else "weight_scale"
        tensors[f"{layer}.{end}"] = scale.squeeze() if by == "matrix" else scale
    save_tensors(tensors, files / "model.safetensors")
    method = "fp8" if by == "block" else "compressed-tensors"
    said(files, {"quantization_config": {"quant_method": method}})
    assert inspected(files)["problem"] is None
    taken(files, tmp_path / "taken")
    own = read(tmp_path / "taken")
    for layer, weight in wanted.items():
        assert np.allclose(own.weight(layer), weight, rtol=1e-6)


def said(files: Path, words: dict[str, Any]) -> None:
    """Changes what a config.json says."""
    path = files / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **words}))


def test_a_tuned_checkpoint_in_floats_and_a_folder_of_pares_own_are_taken(tmp_path: Path) -> None:
    files = copied(tiny_dir(), tmp_path / "tuned")
    tensors = load_file(files / "model.safetensors")
    noise = np.random.default_rng(0).normal(0, 0.01, tensors[f"{UP}.weight"].shape)
    tensors[f"{UP}.weight"] = (tensors[f"{UP}.weight"] + noise).astype(np.float16)
    save_file(tensors, files / "model.safetensors")
    assert inspected(files)["facts"]["kind"] == "floats"
    taken(files, tmp_path / "taken")
    assert np.array_equal(read(tmp_path / "taken").weight(UP), tensors[f"{UP}.weight"])
    own = artifact(tmp_path / "own", 4, 32, False)
    assert inspected(own)["problem"] is None
    taken(own, tmp_path / "again")
    assert np.array_equal(read(tmp_path / "again").weight(UP), read(own).weight(UP))


def test_a_split_file_is_one_checkpoint(tmp_path: Path) -> None:
    whole = gguf_of(artifact(tmp_path / "source"), tmp_path / "files")
    reader = GGUFReader(whole)
    names = [one.name for one in reader.tensors]
    first = tmp_path / "m-00001-of-00002.gguf"
    count = {"split.count": 2, "split.tensors.count": len(names)}
    for number, own in enumerate((names[:5], names[5:])):
        part = tmp_path / f"m-{number + 1:05d}-of-00002.gguf"
        others = tuple(set(names) - set(own))
        rewritten(part, {**count, "split.no": number}, without=others, given=whole)
    assert inspected(first)["problem"] is None
    taken(first, tmp_path / "taken")
    taken(whole, tmp_path / "wanted")
    own, wanted = read(tmp_path / "taken"), read(tmp_path / "wanted")
    assert all(np.array_equal(own.weight(layer), wanted.weight(layer)) for layer in layers())
    (tmp_path / "m-00002-of-00002.gguf").unlink()
    assert "it is one of 2 files of a model" in refusal(first)


def test_what_is_no_checkpoint_of_the_model_is_refused_in_a_sentence(tmp_path: Path) -> None:
    whole = gguf_of(artifact(tmp_path / "source"), tmp_path / "files")
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole.read_bytes()[:-4096])
    assert "Cannot read cut.gguf" in refusal(cut)
    lacks = rewritten(tmp_path / "lacks.gguf", without="blk.1.ffn_up.weight", given=whole)
    assert "it holds no tensor blk.1.ffn_up.weight" in refusal(lacks)
    lies = rewritten(tmp_path / "lies.gguf", {"llama.rope.freq_base": 77.0}, given=whole)
    assert "rope.freq_base is 77.0 in it, and 10000.0 in the model" in refusal(lies)
    vocabulary = load_tokenizer(tiny_dir()).get_vocab()
    tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
    written = rewritten(tmp_path / "same.gguf", words=tokens, given=whole)
    assert inspected(written)["problem"] is None
    no_text = tmp_path / "no-text.gguf"  # found by `python_doors:1:7799`
    no_text.write_bytes(written.read_bytes().replace(tokens[7].encode(), b"\xff" * len(tokens[7])))
    assert "Cannot read no-text.gguf: a text in its header" in refusal(no_text)
    tokens[7], tokens[8] = tokens[8], tokens[7]
    words = rewritten(tmp_path / "words.gguf", words=tokens, given=whole)
    assert "its vocabulary is another: the token 7" in refusal(words)
    assert "there is no such file" in refusal(tmp_path / "none.gguf")
    text = tmp_path / "notes.txt"
    text.write_text("no model")
    assert "a file must be a .gguf" in refusal(text)
    blob = tmp_path / "sha256-0"
    blob.write_bytes(words.read_bytes())  # as Ollama names them
    assert "a file must be a .gguf" in refusal(blob)
    assert "ln -s" in str(other_file_hint(blob)) and "ln -s" not in str(other_file_hint(text))


def test_folders_of_another_model_or_whose_config_lies_are_refused(tmp_path: Path) -> None:
    files = made("gptq", artifact(tmp_path / "source"), tmp_path / "files")
    config = json.loads((files / "config.json").read_text())
    quantized = config["quantization_config"]
    lies = copied(files, tmp_path / "lies")
    said(lies, {"quantization_config": {**quantized, "bits": 8}})
    assert "its configuration claims 8 bits in groups of" in refusal(lies)
    rule = {"+:(": {"bits": 4}}
    for claim in ({"group_size": math.inf}, {"group_size": 0}, {"dynamic": rule}):
        said(lies, {"quantization_config": {**quantized, **claim}})
        assert "configuration" in refusal(lies), claim
    said(lies, {"quantization_config": quantized, "num_attention_heads": 2})
    assert "it says num_attention_heads: 2, and the model's is" in refusal(lies)
    said(lies, {"quantization_config": None, "num_attention_heads": config["num_attention_heads"]})
    for words, why in (("{", "is no JSON"), ("[1]", "holds no object")):
        (lies / "quantize_config.json").write_text(words)
        assert f"its quantize_config.json {why}" in refusal(lies)
    (lies / "quantize_config.json").unlink()
    assert "its config.json says nothing of" in refusal(lies)
    apple = copied(tiny_dir(), tmp_path / "apple")
    said(apple, {"quantization": {"bits": 4}, "quantization_config": {"bits": 4}})
    assert "it is MLX's" in refusal(apple)
    torch.save({}, apple / "pytorch_model.bin")
    (apple / "model.safetensors").unlink()
    assert "its weights are pickled (pytorch_model.bin)" in refusal(apple)
    other = copied(tiny_dir(), tmp_path / "other")
    tensors = load_file(other / "model.safetensors")
    random = np.random.default_rng(1)
    drawn = {
        name: random.normal(0, 0.05, one.shape).astype(one.dtype) if one.ndim == 2 else one
        for name, one in tensors.items()
    }
    save_file(drawn, other / "model.safetensors")
    assert "its weights are another model's: the cosine of" in refusal(other)
    save_file({k: v for k, v in tensors.items() if UP not in k}, other / "model.safetensors")
    assert f"it holds no tensor {UP}.weight" in refusal(other)
    save_file(
        {**tensors, f"{UP}.weight": tensors[f"{UP}.weight"][:-8]}, other / "model.safetensors"
    )
    assert f"{UP}.weight is" in refusal(other)


@pytest.mark.parametrize("architecture", ["mistral", "qwen2", "qwen3"])
def test_files_of_other_architectures_are_taken(architecture: str, tmp_path: Path) -> None:
    original = write_model(architecture, tmp_path / "original")
    path = gguf_of(original, tmp_path / "files")
    assert inspected(path, original)["problem"] is None
    taken(path, tmp_path / "taken", original)
    own, wanted = read(tmp_path / "taken"), read(original)
    for name in wanted.floats:
        assert np.allclose(own.floats[name], wanted.floats[name], rtol=2e-3, atol=1e-6), name
    why = "its weights are another model's" if architecture == "mistral" else "it is of the archi"
    assert why in refusal(path)  # of another model, a llama


def test_a_quantized_directory_is_an_original_once_it_is_decoded(tmp_path: Path) -> None:
    source = artifact(tmp_path / "source", 4, 32, False)
    files = made("gptq", source, tmp_path / "files")
    output = tmp_path / "decoded"
    asked = import_model.ImportModelRequest(str(files), str(output), False)
    facts = import_model.run(asked, silent_report())
    assert facts["path"] == str(output)
    assert facts["dtype"] == "gptq"
    assert "quantized already (gptq) and were decoded to floats" in facts["notes"][0]
    assert facts["original_bytes"] == (files / "model.safetensors").stat().st_size
    own, wanted = read(output), read(source)
    assert not own.stored
    for layer in layers():
        assert np.allclose(own.weight(layer), wanted.weight(layer), rtol=2e-3, atol=1e-6)


def test_the_rows_of_blocks_stand_in_the_models_order(tmp_path: Path) -> None:
    """llama.cpp rotates neighbours: its file holds rows of queries and keys in another order."""
    source = artifact(tmp_path / "source")
    taken(gguf_of(source, tmp_path / "files"), tmp_path / "taken")
    own, layout = read(tmp_path / "taken"), layout_of(tiny_dir())
    for layer in layout.linear:
        assert cosine(own.weight(layer), read(tiny_dir()).weight(layer)) > 0.98
    write(own, tmp_path / "again")
    again = gguf_of(tmp_path / "again", tmp_path / "again-files")
    held = {one.name: one.data for one in GGUFReader(again).tensors}
    for one in GGUFReader(tmp_path / "files" / "model.gguf").tensors:
        assert np.array_equal(np.asarray(held[one.name]), np.asarray(one.data)), one.name


def test_the_experts_of_a_gguf_file_are_those_of_the_model(tmp_path: Path) -> None:
    source = rounded("qwen3_moe", tmp_path)
    floats = tmp_path / "qwen3_moe"
    for directory in (source, floats):
        config = json.loads((directory / "config.json").read_text())
        (directory / "config.json").write_text(json.dumps(config | {"norm_topk_prob": True}))
    path = gguf_of(source, tmp_path / "files")
    assert inspected(path, floats)["problem"] is None
    taken(path, tmp_path / "taken", floats)
    own, wanted = read(tmp_path / "taken"), read(source)
    assert own.stored.keys() == wanted.stored.keys()
    experts = [name for name in wanted.stored if ".experts." in name]
    assert len(experts) == 2 * 4 * 3
    for name in experts:
        assert cosine(own.weight(name), wanted.weight(name)) > 0.99999, name
