"""bitsandbytes' files of pare's NF4 and FP4, read by a decoder that is written from bitsandbytes'
QuantState alone. Loaded by bitsandbytes 0.50 itself by hand: it is no pin here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_models import write_model
from safetensors.numpy import load_file, save_file
from test_conversion import K, Q, artifact, found, layers, made, refusal
from tiny_model import tiny_dir

from pare_backends.checkpoint import read, write
from pare_backends.checkpoint.forms.table import format_named
from pare_backends.models.layout import layout_of
from pare_backends.quantization.table_codes import encoded

FP4 = np.array([0, 0.0625 / 12, 8 / 12, 1, 4 / 12, 6 / 12, 2 / 12, 3 / 12], np.float32)


def coded(out: Path, kind: str, block: int = 64, plain: tuple[str, ...] = ()) -> Path:
    """The tiny model with every linear layer but those of `plain` in a table's codes."""
    source = read(tiny_dir())
    packed = {
        name: encoded(name, source.weight(name), format_named(kind), block)
        for name in layers()
        if name not in plain
    }
    write(source.with_stored(packed), out)
    return out


def documented(tensors: dict[str, np.ndarray], layer: str) -> np.ndarray:
    """Value i is the code in the high (even i) or low nibble, by its block's absmax."""
    kind = next(
        k for k in ("nf4", "fp4") if f"{layer}.weight.quant_state.bitsandbytes__{k}" in tensors
    )
    state = json.loads(bytes(tensors[f"{layer}.weight.quant_state.bitsandbytes__{kind}"]))
    absmax = tensors[f"{layer}.weight.absmax"]
    if absmax.dtype == np.uint8:
        nested = tensors[f"{layer}.weight.nested_absmax"]
        lookup = tensors[f"{layer}.weight.nested_quant_map"]
        absmax = np.array(
            [
                lookup[code] * nested[i // 256] + state["nested_offset"]
                for i, code in enumerate(absmax)
            ]
        )
    numbers, octets = tensors[f"{layer}.weight.quant_map"], tensors[f"{layer}.weight"][:, 0]
    rows, columns = state["shape"]
    out = np.empty(rows * columns, np.float32)
    for i in range(out.size):
        code = int(octets[i // 2]) >> (4 if i % 2 == 0 else 0) & 15
        out[i] = numbers[code] * absmax[i // state["blocksize"]]
    return out.reshape(rows, columns)


@pytest.mark.parametrize(
    ("kind", "block"), [("nf4", 64), ("nf4_double", 64), ("fp4", 128), ("fp4_double", 64)]
)
def test_a_decoder_from_the_documentation_reads_the_codes(
    tmp_path: Path, kind: str, block: int
) -> None:
    source = coded(tmp_path / "artifact", kind, block, (K,))
    files = made("bitsandbytes", source, tmp_path / "files")
    held, tensors = read(source), load_file(files / "model.safetensors")
    np.testing.assert_allclose(documented(tensors, Q), held.weight(Q), rtol=1e-6)
    assert np.array_equal(tensors[f"{K}.weight"], held.floats[f"{K}.weight"].astype(np.float16))
    config = json.loads((files / "config.json").read_text())
    assert "pare_stored_forms" not in config
    words = config["quantization_config"]
    assert (words["load_in_4bit"], words["bnb_4bit_quant_type"]) == (True, kind[:3])
    assert words["bnb_4bit_use_double_quant"] == kind.endswith("double")
    assert words["llm_int8_skip_modules"] == [K, "lm_head"]
    facts = found("bitsandbytes", files, source)
    assert facts["opened_by"] is None
    assert facts["tensor_bytes"] == facts["formula_bytes"]
    assert facts["other_floats"] == []
    assert len(facts["layers"]) == len(layers()) - 1
    for row in facts["layers"]:
        assert row["problem"] is None, row
        assert row["claimed"] == row["found"]
        assert row["cosine"] > 0.9999999
    assert facts["generated_text"]


def test_a_conv1d_lies_as_outputs_by_inputs(tmp_path: Path) -> None:
    """bitsandbytes puts a Linear of its own in a Conv1D's place."""
    model = write_model("gpt2", tmp_path / "gpt2")
    source, layout = read(model), layout_of(model)
    packed = {
        name: encoded(name, source.weight(name).T, format_named("nf4"), 64, True)
        for name in layout.linear
    }
    write(source.with_stored(packed), tmp_path / "artifact")
    files = made("bitsandbytes", tmp_path / "artifact", tmp_path / "files")
    layer = next(iter(packed))
    weights = documented(load_file(files / "model.safetensors"), layer)
    np.testing.assert_allclose(weights.T, packed[layer].weight(), rtol=1e-6)
    facts = found("bitsandbytes", files, tmp_path / "artifact")
    assert all(row["problem"] is None and row["cosine"] > 0.999999 for row in facts["layers"])
    assert facts["generated_text"]


@pytest.mark.parametrize("broken", ["scales", "order", "gone", "table", "claim"])
def test_broken_files_are_caught_by_name(tmp_path: Path, broken: str) -> None:
    source = coded(tmp_path / "artifact", "nf4")
    files = made("bitsandbytes", source, tmp_path / "files")
    tensors = load_file(files / "model.safetensors")
    weight, absmax = f"{Q}.weight", f"{Q}.weight.absmax"
    said: dict[str, Any] = {
        "scales": "its scales",
        "order": "its codes",
        "gone": "weight.absmax",
        "table": "its table",
    }
    if broken == "scales":
        tensors[absmax] = tensors[absmax.replace("layers.0", "layers.1")]
    elif broken == "order":
        tensors[weight] = np.ascontiguousarray(tensors[weight][::-1])
    elif broken == "gone":
        del tensors[absmax]
    elif broken == "table":
        tensors[f"{Q}.weight.quant_map"] = np.concatenate([FP4, -FP4])
    save_file(tensors, files / "model.safetensors", metadata={"format": "pt"})
    if broken == "claim":
        config = json.loads((files / "config.json").read_text())
        config["quantization_config"]["bnb_4bit_quant_type"] = "fp4"
        (files / "config.json").write_text(json.dumps(config))
    rows = found("bitsandbytes", files, source)["layers"]
    if broken == "claim":
        assert all(row["claimed"] == "fp4" and row["found"] == "nf4" for row in rows)
        return
    bad = [row for row in rows if row["problem"] is not None]
    assert [row["layer"] for row in bad] == [Q]
    assert said[broken] in bad[0]["problem"]


def test_what_it_cannot_hold_is_refused_before_work(tmp_path: Path) -> None:
    out = tmp_path / "files"
    assert "no layer of it is packed" in refusal("bitsandbytes", tiny_dir(), out)
    integers = artifact(tmp_path / "integers")
    assert "is stored as grid, and it holds codes of nf4" in refusal("bitsandbytes", integers, out)
    other = coded(tmp_path / "mxfp4", "mxfp4", 32)
    assert "is rounded to mxfp4" in refusal("bitsandbytes", other, out)
    kinds = {K: "nf4", Q: "fp4"}
    two = {n: encoded(n, read(tiny_dir()).weight(n), format_named(k), 64) for n, k in kinds.items()}
    write(read(tiny_dir()).with_stored(two), tmp_path / "two")
    assert "all of one kind" in refusal("bitsandbytes", tmp_path / "two", out)
    embedding = "model.embed_tokens"
    of_table = encoded(embedding, read(tiny_dir()).weight(embedding), format_named("nf4"), 64)
    write(read(tiny_dir()).with_stored({embedding: of_table}), tmp_path / "embedding")
    assert "is the embedding" in refusal("bitsandbytes", tmp_path / "embedding", out)
