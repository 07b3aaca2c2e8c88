"""The type of a model stays what it was: a plain load computes as the source does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_model import act, tiny_copy, tiny_dir
from transformers import (
    AutoModelForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
)

from pare_backends.checkpoint import formula_bytes, load_dequantized, read, write
from pare_backends.checkpoint.files import weight_files
from pare_backends.checkpoint.forms.floats import bfloat16, read_back
from pare_backends.checkpoint.load import load_model
from pare_backends.checkpoint.stored import file_entries
from pare_backends.conversion.formats import format_named
from pare_backends.conversion.gguf_files import convert_gguf, read_gguf
from pare_backends.conversion.write import convert, read_source
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.quantization.rounding import round_matrix

PROBE = torch.arange(3, 35)[None]
SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
}


def saved(model: Any, dtype: str, directory: Path) -> Path:
    model.to(getattr(torch, dtype)).save_pretrained(directory)
    return directory


def rounded(source: Path, out: Path) -> Path:
    """The model's linear layers in 8 bits by groups of 32, written."""
    checkpoint = replace(read(source), renamed=layout_of(source).renamed)
    layers = [
        name.removesuffix(".weight")
        for name in checkpoint.floats
        if name.endswith("_proj.weight") or ".experts." in name or name.endswith("h.weight")
    ]
    made = {n: round_matrix(n, checkpoint.weight(n), 8, 32, symmetric=True) for n in layers}
    write(checkpoint.with_stored(made), out)
    return out


def beyond_half(tmp_path: Path) -> Path:
    """A model in bfloat16 whose residual stream passes what float16 can hold."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**SIZES))
    with torch.no_grad():
        for block in model.model.layers:
            block.mlp.up_proj.weight *= 3e4
            block.mlp.down_proj.weight *= 3e5
    return saved(model, "bfloat16", tmp_path / "source")


def plain_logits(directory: Path) -> torch.Tensor:
    """What the lines that a report prints give."""
    model = AutoModelForCausalLM.from_pretrained(str(directory)).eval()
    with torch.inference_mode():
        return torch.as_tensor(model(PROBE).logits)


def near(own: torch.Tensor, other: torch.Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(own.flatten(), other.flatten(), dim=0))


def test_a_residual_beyond_float16_loads_as_it_was_evaluated(tmp_path: Path) -> None:
    source = beyond_half(tmp_path)
    with torch.inference_mode():
        states = AutoModelForCausalLM.from_pretrained(str(source)).model(
            PROBE, output_hidden_states=True
        )
    assert max(float(one.abs().max()) for one in states.hidden_states) > 65504
    artifact = rounded(source, tmp_path / "artifact")
    found = plain_logits(artifact)
    assert found.dtype == torch.bfloat16 and torch.isfinite(found).all()
    with torch.inference_mode():
        evaluated = load_model(read(artifact), artifact)(PROBE).logits
    assert near(found.float(), evaluated) > 0.999


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("key", ["dtype", "torch_dtype", None])
def test_the_type_of_the_source_is_kept(tmp_path: Path, dtype: str, key: str | None) -> None:
    source = saved(LlamaForCausalLM(LlamaConfig(**SIZES)), dtype, tmp_path / "source")
    path = source / "config.json"
    config = json.loads(path.read_text())
    del config["dtype"]
    path.write_text(json.dumps({**config, **({} if key is None else {key: dtype})}))
    artifact = rounded(source, tmp_path / "artifact")
    written = json.loads((artifact / "config.json").read_text())
    assert (written["dtype"], written.get("torch_dtype")) == (dtype, None)
    assert read(artifact).dtype == dtype
    assert plain_logits(artifact).dtype == getattr(torch, dtype)


def test_floats_of_a_bfloat16_model_keep_every_bit(tmp_path: Path) -> None:
    model = LlamaForCausalLM(LlamaConfig(**SIZES))
    with torch.no_grad():
        model.model.embed_tokens.weight[0] = 1e30  # beyond float16
        model.model.embed_tokens.weight[1] = 1e-12  # below it
    source = saved(model, "bfloat16", tmp_path / "source")
    artifact = rounded(source, tmp_path / "artifact")
    entries = file_entries(weight_files(artifact)[0])
    assert {one.dtype for one in entries.values()} == {"BF16", "I32", "I64"}
    before, after = read(source), read(artifact)
    assert sorted(after.floats) and len(after.stored) == 14
    for name in after.floats:
        assert np.array_equal(before.floats[name], after.floats[name]), name


def test_rounding_to_bfloat16_is_torchs() -> None:
    values = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    values[:4] = (np.inf, -np.inf, 0.0, -0.0)
    expected = torch.from_numpy(values).to(torch.bfloat16).float().numpy()
    assert np.array_equal(read_back(bfloat16(values)), expected, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["experts", "head"])
def test_renamed_tensors_load_in_the_type_of_their_model(
    tmp_path: Path, dtype: str, kind: str
) -> None:
    torch.manual_seed(1)
    mixture = MixtralConfig(**SIZES, num_local_experts=4, num_experts_per_tok=2)
    model = (
        MixtralForCausalLM(mixture)
        if kind == "experts"
        else GPTNeoXForCausalLM(GPTNeoXConfig(**SIZES))
    )
    source = saved(model, dtype, tmp_path / "source")
    artifact = rounded(source, tmp_path / "artifact")
    found = plain_logits(artifact)
    assert found.dtype == getattr(torch, dtype)
    with torch.inference_mode():
        evaluated = load_model(read(artifact), artifact)(PROBE).logits
    assert near(found.float(), evaluated) > 0.999


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_formula_counts_the_type_that_is_kept(tmp_path: Path, dtype: str) -> None:
    model = LlamaForCausalLM(LlamaConfig(**SIZES))
    with torch.no_grad():
        if dtype != "float16":
            model.model.embed_tokens.weight[0] = 1e6  # two bytes more a value as float16
    source = saved(model, dtype, tmp_path / "source")
    artifact = rounded(source, tmp_path / "artifact")
    for checkpoint in (read(artifact), read(artifact).with_floats({})):
        entries = file_entries(weight_files(artifact)[0]).values()
        assert formula_bytes(checkpoint) == sum(one.end - one.start for one in entries)
    wide = {n for n, one in file_entries(weight_files(artifact)[0]).items() if one.dtype == "F32"}
    assert wide == ({"model.embed_tokens.weight"} if dtype == "float32" else set())


@pytest.mark.parametrize("name", ["compressed-tensors", "gptq", "auto-round"])
def test_a_conversion_keeps_the_type(tmp_path: Path, name: str) -> None:
    source = saved(LlamaForCausalLM(LlamaConfig(**SIZES)), "bfloat16", tmp_path / "source")
    artifact = rounded(source, tmp_path / "artifact")
    files = tmp_path / "files"
    formula = convert(read_source(artifact), format_named(name), files, silent_report())
    assert json.loads((files / "config.json").read_text())["dtype"] == "bfloat16"
    entries = {n: e for path in weight_files(files) for n, e in file_entries(path).items()}
    assert sum(one.end - one.start for one in entries.values()) == formula
    assert entries["model.norm.weight"].dtype == "BF16"


@pytest.mark.parametrize("beyond", [False, True])
def test_a_gguf_file_has_the_bytes_of_its_formula(tmp_path: Path, beyond: bool) -> None:
    """A matrix that float16 cannot hold lies in float32, and is counted so."""
    model = tiny_copy(tmp_path / "source", dtype="bfloat16")
    tensors = load_file(model / "model.safetensors")
    if beyond:
        tensors["model.embed_tokens.weight"][0, 0] = 1e6
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    act(tmp_path / "artifact", "rtn", {"bits": 4, "group_size": 32}, model)
    (tmp_path / "files").mkdir()
    source = read_source(tmp_path / "artifact")
    formula = convert_gguf(source, tmp_path / "files", silent_report())
    held = read_gguf(tmp_path / "files" / "model.gguf")
    assert sum(one.bytes for one in held.values()) == formula
    assert held["token_embd.weight"].kind == ("F32" if beyond else "F16")


def test_a_method_writes_the_type_of_its_model(tmp_path: Path) -> None:
    for dtype in ("float32", "bfloat16"):
        source = tiny_copy(tmp_path / dtype, dtype=dtype)
        act(tmp_path / f"{dtype}-child", "rtn", {"bits": 8, "group_size": 32}, source)
        assert read(tmp_path / f"{dtype}-child").dtype == dtype
    assert read(tiny_dir()).dtype == "float32"
    own, other = (load_dequantized(tmp_path / f"{one}-child")[0] for one in ("float32", "bfloat16"))
    with torch.inference_mode():
        assert near(own(PROBE).logits, other(PROBE).logits) > 0.999
