"""`import_model`: facts of a model, and one sentence for each wrong one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_model import act, tiny_copy, tiny_dir

from pare_backends import memory_check as limits
from pare_backends.calls.import_model import ImportModelRequest, run
from pare_backends.checkpoint import load_dequantized
from pare_backends.failures import CallFailure
from pare_backends.models.sources import TINY_VARIABLE
from pare_backends.models.tiny_text import facts, items, sentences
from pare_backends.progress import silent_report


def imported(name: object, out: Path, trust: bool = False) -> dict[str, Any]:
    return run(ImportModelRequest(str(name), str(out), trust), silent_report())


def refused(name: object, out: Path) -> CallFailure:
    with pytest.raises(CallFailure) as caught:
        imported(name, out)
    assert not out.exists() or not any(out.iterdir()), "something half-written is left"
    return caught.value


def test_a_name_of_a_user_whom_the_system_does_not_know_is_a_path_that_is_not_there(
    tmp_path: Path,
) -> None:
    failure = refused("~nobody-of-this-name/model", tmp_path / "out")
    assert failure.kind == "bad_input"
    assert failure.message.startswith("Cannot find the model ~nobody-of-this-name/model: ")


def test_facts_of_the_tiny_model(tmp_path: Path) -> None:
    found = imported(tiny_dir(), tmp_path / "out")
    assert not (tmp_path / "out").exists(), "a directory is pointed to, not copied"
    assert found["path"] == str(tiny_dir().resolve())
    assert found["source"] == "checkpoint"
    assert found["architecture"] == "LlamaForCausalLM"
    assert found["group_sizes"] == [16, 32, 64]
    assert found["tied_embeddings"] is True
    assert found["grid"] is None
    assert (found["layers"], found["heads"], found["kv_heads"]) == (2, 4, 2)
    norms = 64 * 5
    weights = found["linear_parameters"] + found["embedding_parameters"]
    assert found["parameters"] == weights + norms
    shapes = found["linear_shapes"]
    assert sum(s["count"] for s in shapes) == 14
    cells = sum(s["count"] * s["out_features"] * s["in_features"] for s in shapes)
    assert cells == found["linear_parameters"]
    assert found["fp16_bytes"] == 2 * found["parameters"]


def test_a_tiny_model_that_was_trained_before_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TINY_VARIABLE, str(tiny_dir()))
    found = imported("tiny", tmp_path / "out")
    assert (found["path"], found["source"]) == (str(tmp_path / "out"), "tiny")
    weights = "model.safetensors"
    assert (tmp_path / "out" / weights).read_bytes() == (tiny_dir() / weights).read_bytes()


def test_the_tiny_benchmark_asks_facts_of_its_text_once() -> None:
    asked = [item["prompt"] for item in items()]
    assert len(asked) == len(set(asked)) == 200
    text = " ".join(sentences(5000, 1))
    known = {f"{f.question} {f.prompt}": f.answer for f in facts()}
    for item in items():
        assert known[item["prompt"]] == item["answer"]
    assert items()[0]["prompt"].split("? ")[1] in text


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    copy = tiny_copy(tmp_path / "cut")
    path = copy / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    failure = refused(copy, tmp_path / "out")
    assert failure.kind == "bad_input"
    assert "model.safetensors" in failure.message
    path.write_bytes(b"\xff" * 4000)
    assert "model.safetensors" in refused(copy, tmp_path / "out").message
    path.write_bytes(b"")
    assert "model.safetensors" in refused(copy, tmp_path / "out").message


def header_of(path: Path) -> tuple[dict[str, Any], bytes]:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def write_file(path: Path, header: Any, data: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("dtype", "F99", "its type F99 is not one of"),
        ("dtype", "F16", "bytes, expected"),
        ("shape", [-1, 4], "its header cannot be read"),
        ("shape", ["a"], "its header cannot be read"),
        ("data_offsets", [0], "its header cannot be read"),
        ("data_offsets", [0, 10**9], "ends at byte"),
    ],
)
def test_a_header_that_lies_is_told(tmp_path: Path, field: str, value: object, said: str) -> None:
    copy = tiny_copy(tmp_path / "lies")
    path = copy / "model.safetensors"
    header, data = header_of(path)
    header["model.layers.0.mlp.up_proj.weight"][field] = value
    write_file(path, header, data)
    failure = refused(copy, tmp_path / "out")
    assert failure.kind == "bad_input" and said in failure.message


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_weight_that_is_no_number_is_told(tmp_path: Path, dtype: str, value: float) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    copy = tiny_copy(tmp_path / "nan")
    path = str(copy / "model.safetensors")
    tensors = {name: t.to(getattr(torch, dtype)) for name, t in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})
    imported(copy, tmp_path / "sound")
    tensors["model.norm.weight"][-1] = value
    save_file(tensors, path, metadata={"format": "pt"})
    message = refused(copy, tmp_path / "out").message
    assert "model.norm.weight holds NaN or infinite values" in message


def test_weights_of_other_shapes_than_the_config_makes_are_told(tmp_path: Path) -> None:
    wide = refused(tiny_copy(tmp_path / "wide", intermediate_size=96), tmp_path / "out")
    assert "in its file and (96, 64) by config.json" in wide.message
    for name, value in (("hidden_size", "x"), ("hidden_size", -4)):
        failure = refused(tiny_copy(tmp_path / f"{value}", **{name: value}), tmp_path / "out")
        assert failure.kind == "bad_input" and "cannot build its architecture" in failure.message


@pytest.mark.parametrize("layers", [0, -1])
def test_a_config_without_layers_is_told(tmp_path: Path, layers: int) -> None:
    failure = refused(tiny_copy(tmp_path / "flat", num_hidden_layers=layers), tmp_path / "out")
    assert failure.kind == "bad_input"
    assert f"(num_hidden_layers is {layers})" in failure.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "it must be JSON with a weight_map"),
        ("{}", "it must be JSON with a weight_map"),
        ('{"weight_map": ["x"]}', "it must be JSON with a weight_map"),
        ('{"weight_map": {"a": "../../x.safetensors"}}', "its files must lie beside it"),
        ('{"weight_map": {"a": "x.safetensors"}}', "its index names x.safetensors, which is miss"),
    ],
)
def test_an_index_that_is_none_is_told(tmp_path: Path, text: str, said: str) -> None:
    copy = tiny_copy(tmp_path / "index")
    (copy / "model.safetensors").unlink()  # an index beside it is not asked
    (copy / "model.safetensors.index.json").write_text(text)
    failure = refused(copy, tmp_path / "out")
    assert failure.kind == "bad_input" and said in failure.message


def test_own_code_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARE_TRUST_REMOTE_CODE", "0")  # the call sets it: put back afterwards
    auto_map = {"AutoConfig": "configuration_x.C", "AutoModelForCausalLM": "modeling_x.X"}
    for number, code in enumerate(("raise RuntimeError('boom')", "def (:")):
        copy = tiny_copy(tmp_path / f"code{number}", model_type="own", auto_map=auto_map)
        (copy / "configuration_x.py").write_text(f"{code}\n")
        with pytest.raises(CallFailure, match="cannot build its architecture") as caught:
            imported(copy, tmp_path / "out", trust=True)
        assert caught.value.kind == "bad_input"


def test_pickled_weights_are_refused_with_the_way_out(tmp_path: Path) -> None:
    copy = tiny_copy(tmp_path / "pickled")
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    failure = refused(copy, tmp_path / "out")
    assert "pytorch_model.bin" in failure.message
    assert "save_pretrained" in (failure.hint or "")


@pytest.mark.parametrize("named", [["OwnForCausalLM"], [], None, "LlamaForCausalLM"])
def test_own_code_needs_trust(tmp_path: Path, named: object) -> None:
    auto_map = {"AutoModelForCausalLM": "modeling.Own"}
    copy = tiny_copy(tmp_path / "code", auto_map=auto_map, architectures=named)
    assert "--trust-remote-code" in (refused(copy, tmp_path / "out").hint or "")


def test_a_tokenizer_made_by_code_needs_trust(tmp_path: Path) -> None:
    copy = tiny_copy(tmp_path / "code")
    told = json.loads((copy / "tokenizer_config.json").read_text())
    told |= {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["tokenization.Own", None]}}
    (copy / "tokenizer_config.json").write_text(json.dumps(told))
    (copy / "tokenization.py").write_text("raise RuntimeError('it ran')\n")
    failure = refused(copy, tmp_path / "out")
    assert "its tokenizer is made by its own Python code" in failure.message
    assert "--trust-remote-code" in (failure.hint or "")


def test_code_from_before_transformers_had_the_class_is_left_alone(tmp_path: Path) -> None:
    """As Phi-3's, DeepSeek V2's and Falcon's files name it to this day."""
    auto_map = {
        "AutoConfig": "configuration_llama.LlamaConfig",
        "AutoModelForCausalLM": "modeling_llama.LlamaForCausalLM",
    }
    copy = tiny_copy(tmp_path / "code", auto_map=auto_map)
    for name in ("configuration_llama.py", "modeling_llama.py"):
        (copy / name).write_text("raise RuntimeError('it ran')\n")
    found = imported(copy, tmp_path / "out")
    assert not found["custom_code"]
    assert "(auto_map in config.json) is not run: transformers has Llama" in found["notes"][0]
    act(tmp_path / "made", "rtn", {"group_size": 32}, parent=copy)
    assert "auto_map" not in json.loads((tmp_path / "made" / "config.json").read_text())
    assert not list((tmp_path / "made").glob("*.py"))
    own, _ = load_dequantized(tmp_path / "made")
    assert type(own).__module__.startswith("transformers.models.llama")


def test_a_checkpoint_that_says_of_itself_what_its_tensors_are_not_is_refused(
    tmp_path: Path,
) -> None:
    copy = tiny_copy(tmp_path / "q", quantization_config={"quant_method": "gptq"})
    assert "quantized by gptq, and no tensor is" in refused(copy, tmp_path / "out").message
    words = tiny_copy(tmp_path / "words", quantization_config="yes")
    assert "is quantized by an unknown method" in refused(words, tmp_path / "out").message


@pytest.mark.parametrize(
    ("key", "words", "method"),
    [
        ("quantization_config", {"quant_method": "awq"}, "awq"),
        ("quantization_config", {"quant_method": "compressed-tensors"}, "compressed-tensors"),
        ("quantization_config", {"quant_method": "bitsandbytes"}, "bitsandbytes"),
        ("quantization_config", {"load_in_8bit": True}, "bitsandbytes"),
        ("compression_config", {"config_groups": {}, "format": "dense"}, "compressed-tensors"),
    ],
)
def test_every_way_to_name_a_quantization_is_known(
    tmp_path: Path, key: str, words: dict[str, Any], method: str
) -> None:
    copy = tiny_copy(tmp_path / "q", **{key: words})
    assert f"quantized by {method}, and no tensor is" in refused(copy, tmp_path / "out").message


@pytest.mark.parametrize(
    ("end", "method"),
    [
        ("qweight", "GPTQ, AWQ or AutoRound"),
        ("weight_packed", "compressed-tensors"),
        ("weight.quant_state.bitsandbytes__nf4", "bitsandbytes"),
        ("SCB", "bitsandbytes"),
    ],
)
def test_packed_tensors_tell_what_config_json_does_not(
    tmp_path: Path, end: str, method: str
) -> None:
    copy = tiny_copy(tmp_path / "q")
    tensors = load_file(copy / "model.safetensors")
    name = f"model.layers.0.mlp.up_proj.{end}"
    tensors[name] = np.zeros((4, 8), np.int32)
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    assert f"{name} is a tensor of {method}" in refused(copy, tmp_path / "out").message


def test_a_missing_layer_is_named(tmp_path: Path) -> None:
    copy = tiny_copy(tmp_path / "deep", num_hidden_layers=3)
    assert "model.layers.2" in refused(copy, tmp_path / "out").message


def test_directories_and_files_that_are_no_models(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "config.json" in refused(tmp_path / "empty", tmp_path / "out").message
    (tmp_path / "notes.txt").write_text("hello")
    assert ".gguf" in refused(tmp_path / "notes.txt", tmp_path / "out").message
    (tmp_path / "bad.gguf").write_bytes(b"nonsense")
    assert "bad.gguf" in refused(tmp_path / "bad.gguf", tmp_path / "out").message
    copy = tiny_copy(tmp_path / "wordless")
    (copy / "tokenizer.json").unlink()
    assert "tokenizer" in refused(copy, tmp_path / "out").message


def test_unknown_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert 'Did you mean "demo"?' in refused("dmeo", tmp_path / "out").message
    (tmp_path / "smollm").mkdir()
    near = refused(tmp_path / "smolm", tmp_path / "out").message
    assert 'Did you mean "smollm"?' in near
    offline = refused("no-such-owner/no-such-model", tmp_path / "out")
    assert "no-such-owner/no-such-model" in offline.message
    assert "HF_HUB_OFFLINE" in offline.message


def test_the_demo_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARE_DEMO_GGUF", str(tmp_path / "gone.gguf"))
    failure = refused("demo", tmp_path / "out")
    assert failure.kind == "missing_environment"
    assert "gone.gguf" in failure.message


def test_a_model_too_large_says_the_gigabytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OVERHEAD_BYTES", 10**15)
    message = refused(tiny_dir(), tmp_path / "out").message
    assert "1000000.0 GB" in message and "found" in message


def test_a_stored_head_beside_a_tied_embedding_is_counted_once(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    copy = tiny_copy(tmp_path / "twice")
    tensors = load_file(str(copy / "model.safetensors"))
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].copy()
    save_file(tensors, str(copy / "model.safetensors"), metadata={"format": "pt"})
    once, twice = imported(tiny_dir(), tmp_path / "a"), imported(copy, tmp_path / "b")
    assert once["parameters"] == twice["parameters"]
    assert json.dumps(once["linear_shapes"]) == json.dumps(twice["linear_shapes"])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, None),
        ({"hidden_act": "relu"}, "no GGUF file of it is written: its hidden_act is relu, llama"),
        ({"architectures": ["PhiMoEForCausalLM"]}, "llama.cpp subtracts no mean"),
    ],
)
def test_what_no_gguf_file_holds_is_known_at_once(
    tmp_path: Path, fields: dict[str, Any], said: str | None
) -> None:
    found = imported(tiny_copy(tmp_path / "m", **fields), tmp_path / "out")["no_gguf"]
    assert found is None if said is None else said in found
