"""What a model's files say twice, bring beside the weights, or ask for beyond what they hold."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_model import act, tiny_copy, tiny_dir
from transformers import AutoModelForCausalLM

from pare_backends.calls import verify
from pare_backends.calls.import_model import ImportModelRequest, run
from pare_backends.checkpoint import load_dequantized, read
from pare_backends.checkpoint.files import INDEX, SINGLE
from pare_backends.failures import CallFailure
from pare_backends.models.hub_files import wanted_files
from pare_backends.progress import silent_report

NORM = "model.norm.weight"


def imported(directory: Path, trust: bool = False) -> dict[str, Any]:
    return run(ImportModelRequest(str(directory), str(directory / "o"), trust), silent_report())


def refused(directory: Path) -> str:
    with pytest.raises(CallFailure) as said:
        imported(directory)
    assert said.value.kind == "bad_input" and said.value.hint is not None
    return said.value.message


def changed_json(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def sharded(out: Path) -> Path:
    """The tiny model in two files whose index names them."""
    copy = tiny_copy(out)
    tensors = load_file(copy / SINGLE)
    names = sorted(tensors)
    places = {}
    for number, own in enumerate((names[::2], names[1::2]), start=1):
        file = f"model-{number:05d}-of-00002.safetensors"
        save_file({name: tensors[name] for name in own}, copy / file, metadata={"format": "pt"})
        places |= dict.fromkeys(own, file)
    (copy / SINGLE).unlink()
    (copy / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return copy


def test_of_weights_held_twice_those_of_transformers_are_taken(tmp_path: Path) -> None:
    copy = sharded(tmp_path / "m")
    assert imported(copy)["notes"] == []
    tensors = load_file(tiny_dir() / SINGLE)
    save_file({**tensors, NORM: tensors[NORM] + 1}, copy / SINGLE, metadata={"format": "pt"})
    note = imported(copy)["notes"][0]
    assert "its weights twice: model.safetensors is taken, as transformers does" in note
    ids = torch.arange(3, 30)[None]
    with torch.inference_mode():
        theirs = AutoModelForCausalLM.from_pretrained(str(copy), dtype=torch.float32)(ids).logits
        ours = load_dequantized(copy)[0](ids).logits
        torch.testing.assert_close(ours, theirs)


def test_a_tensor_of_two_files_is_no_models(tmp_path: Path) -> None:
    copy = sharded(tmp_path / "m")
    second = copy / "model-00002-of-00002.safetensors"
    tensors = load_file(second) | load_file(copy / "model-00001-of-00002.safetensors")
    save_file(tensors, second, metadata={"format": "pt"})
    said = refused(copy)
    assert "model-00001-of-00002.safetensors and model-00002-of-00002.safetensors both hold" in said
    (copy / INDEX).unlink()
    assert "both hold" in refused(copy)


def test_of_the_hub_the_files_are_fetched_that_are_read() -> None:
    shards = [f"model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    beside = ["README.md", "config.json", "tokenizer.json"]
    whole = [SINGLE, INDEX, "LICENSE", "a/README.md", *shards, *beside]
    assert wanted_files(whole, False) == [SINGLE, *beside]
    assert wanted_files([INDEX, *shards, *beside], False) == [*shards, INDEX, *beside]


def test_an_adapter_beside_the_weights_is_told(tmp_path: Path) -> None:
    copy = tiny_copy(tmp_path / "m")
    (copy / "adapter_config.json").write_text("{}")
    assert "an adapter lies beside its weights" in refused(copy)
    (copy / "adapter_config.json").unlink()
    (copy / "adapter").mkdir()
    (copy / "adapter" / "adapter_config.json").write_text("{}")
    assert "transformers leaves it out" in imported(copy)["notes"][0]


def test_weights_by_another_name_are_told(tmp_path: Path) -> None:
    copy = tiny_copy(tmp_path / "m", transformers_weights="other.safetensors")
    assert "its weights are other.safetensors" in refused(copy)


def own_code(out: Path) -> Path:
    """The tiny model as one that brings its own classes."""
    copy = tiny_copy(out)
    (copy / "configuration_own.py").write_text(
        "from transformers import LlamaConfig\n\n\nclass OwnConfig(LlamaConfig):\n"
        "    model_type = 'own_llama'\n"
    )
    (copy / "modeling_own.py").write_text(
        "from transformers import LlamaForCausalLM\n\nfrom .configuration_own import OwnConfig\n\n"
        "\nclass OwnForCausalLM(LlamaForCausalLM):\n    config_class = OwnConfig\n"
    )
    places = {
        "AutoConfig": "configuration_own.OwnConfig",
        "AutoModelForCausalLM": "modeling_own.OwnForCausalLM",
    }
    fields = {"model_type": "own_llama", "architectures": ["OwnForCausalLM"], "auto_map": places}
    changed_json(copy / "config.json", **fields)
    return copy


def test_the_code_of_a_model_goes_with_its_artifacts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARE_TRUST_REMOTE_CODE", "1")
    source = own_code(tmp_path / "m")
    act(tmp_path / "out", "rtn", {"group_size": 32}, parent=source)
    for name in ("configuration_own.py", "modeling_own.py"):
        assert (tmp_path / "out" / name).read_bytes() == (source / name).read_bytes()
    found = verify.run(verify.VerifyRequest(str(tmp_path / "out"), str(source)), silent_report())
    assert found["not_generated"] is None and found["generated_text"]
    (source / "modeling_own.py").rename(source / "run.py")
    changed_json(source / "config.json", auto_map=None)
    assert all(path.suffix != ".py" for path in read(source).files), "without use there is none"
    changed_json(source / "tokenizer_config.json", auto_map={"AutoTokenizer": ["t.T", None]})
    assert [path.name for path in read(source).files if path.suffix == ".py"]


@pytest.mark.parametrize("number", [2**31, None])
def test_an_id_without_a_row_is_told_before_anything_is_made(
    tmp_path: Path, number: int | None
) -> None:
    """The tokenizers library takes nine gigabytes for an id of 2^31."""
    copy = tiny_copy(tmp_path / "m")
    document = json.loads((copy / "tokenizer.json").read_text())
    rows = len(document["model"]["vocab"])
    document["model"]["vocab"]["newest"] = number or rows
    (copy / "tokenizer.json").write_text(json.dumps(document))
    started = time.monotonic()
    said = refused(copy)
    assert f"gives 'newest' the id {number or rows}, and " in said
    assert time.monotonic() - started < 20
    if number is None:
        assert f"its embedding has {rows} rows" in said


@pytest.mark.parametrize("file", ["added_tokens.json", "tokenizer_config.json", "tokenizer.json"])
def test_ids_are_looked_for_in_every_file_of_a_tokenizer(tmp_path: Path, file: str) -> None:
    copy = tiny_copy(tmp_path / "m")
    if file == "added_tokens.json":
        (copy / file).write_text(json.dumps({"far": 2**31}))
    elif file == "tokenizer_config.json":
        changed_json(copy / file, added_tokens_decoder={str(2**31): {"content": "far"}})
    else:
        changed_json(copy / file, added_tokens=[{"id": 2**31, "content": "far"}])
    assert f"the id {2**31}" in refused(copy)


@pytest.mark.parametrize("where", ["num_hidden_layers", "num_experts", "inner"])
def test_a_config_of_more_modules_than_tensors_is_not_built(tmp_path: Path, where: str) -> None:
    fields = {"text_config": {"n_layer": 10**9}} if where == "inner" else {where: 10**9}
    copy = tiny_copy(tmp_path / "m", **fields)
    name = "n_layer" if where == "inner" else where
    assert f"says {name}: 1000000000, and its files hold" in refused(copy)


def test_a_byte_order_mark_is_named(tmp_path: Path) -> None:
    copy = tiny_copy(tmp_path / "m")
    path = copy / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert "it begins with a byte order mark" in refused(copy)
    shutil.rmtree(copy)
