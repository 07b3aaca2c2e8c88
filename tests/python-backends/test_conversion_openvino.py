"""An OpenVINO folder of a trial: read by OpenVINO alone, and by optimum in its environment."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from runtime_fixtures import (
    adapted,
    artifact,
    exported_graph,
    exporter,
    random_llama,
    rounded,
    run_worker,
)

from pare_backends.calls import prove_runtime
from pare_backends.checkpoint import read, write
from pare_backends.conversion.openvino_files import (
    convert_openvino,
    formula_bytes,
    graph_facts,
    refusal,
)
from pare_backends.conversion.write import read_source
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.quantization.table_codes import encoded, format_named
from pare_backends.runtimes.openvino.graph_file import save_graph, simplify_decoder
from pare_backends.runtimes.openvino.graph_weights import build_model

Q = "model.layers.0.self_attn.q_proj"
UP = "model.layers.1.mlp.up_proj"
TOKENS = np.random.default_rng(0).integers(0, 320, 40)
STRICT = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}


def saved(source: Path, out: Path) -> Path:
    out.mkdir()
    save_graph(exported_graph(), source, out)
    return out


def test_what_the_page_shows_compiles_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "elsewhere.md").read_text()
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "openvino" in b)
    saved(artifact(4, 32, True, None), tmp_path / "served")
    (tmp_path / "shown.py").write_text(block)
    monkeypatch.chdir(tmp_path)
    assert {"input_ids"} <= set(runpy.run_path("shown.py")["model"].inputs[0].get_names())


def logits(files: Path) -> tuple[np.ndarray, int]:
    """As any program gets them of the two files, and the groups that inputs are rounded in."""
    compiled = openvino.Core().compile_model(files / "openvino_model.xml", "CPU", STRICT)
    given = {
        "input_ids": TOKENS[None],
        "attention_mask": np.ones((1, len(TOKENS)), np.int64),
        "position_ids": np.arange(len(TOKENS))[None],
        "beam_idx": np.zeros(1, np.int32),
    }
    group = compiled.get_property("DYNAMIC_QUANTIZATION_GROUP_SIZE")
    return np.asarray(compiled.create_infer_request().infer(given)["logits"][0]), int(group)


@pytest.mark.parametrize(
    ("grid", "elements"),
    [
        ((4, 32, True, None), {"i4"}),
        ((4, 32, False, None), {"u4"}),
        ((3, 16, False, 8), {"u4", "u8"}),
        ((8, -1, True, 4), {"i8", "i4"}),
        ((8, 32, False, None), {"u8"}),
    ],
)
def test_plain_openvino_computes_with_the_trials_own_integers(
    tmp_path: Path, grid: Any, elements: set[str]
) -> None:
    source = artifact(*grid)
    files = saved(source, tmp_path / "files")
    found, group = logits(files)
    plain, _, _ = prove_runtime.torch_logits(str(source), TOKENS)
    # Scales and norms are float16 in the files: so are the artifact's own.
    assert np.abs(found - plain).max() <= 1e-3
    assert group == 0
    model = openvino.Core().read_model(files / "openvino_model.xml")
    constants = {
        node.get_friendly_name(): node.get_element_type().get_type_name()
        for node in model.get_ops()
        if node.get_type_name() == "Constant"
    }
    packed = [name.removesuffix("/scale") for name in constants if name.endswith("/scale")]
    assert {constants[name] for name in packed} == elements
    assert len(packed) == 14 + (grid[3] is not None)
    assert constants[f"{Q}.weight/scale"] == "f16"
    facts, _ = graph_facts(files, read_source(source), silent_report())
    assert facts["tensor_bytes"] == facts["formula_bytes"]
    size = (files / "openvino_model.bin").stat().st_size
    assert 0 <= size - facts["formula_bytes"] < 4096  # the graph's own constants
    assert facts["other_floats"] == []
    for row in facts["layers"]:
        assert row["problem"] is None, row
        assert row["claimed"] == row["found"], row
        assert min(row["cosine"], row["opened_cosine"]) > 0.99999, row


def test_the_files_say_how_inputs_are_rounded(tmp_path: Path) -> None:
    source = artifact(8, -1, True, None, 32)
    found, group = logits(saved(source, tmp_path / "files"))
    assert group == build_model(str(exported_graph()), str(source)).activation_group == 32
    plain, _, _ = prove_runtime.torch_logits(str(source), TOKENS)
    assert np.abs(found - plain).max() < 0.1 * plain.std()


def test_a_broken_folder_is_caught_by_name(tmp_path: Path) -> None:
    source = artifact(4, 32, True, None)
    other = read(source)
    weights = other.weight(Q)
    changed = {
        Q: rounded(weights[::-1].copy(), 4, 32, True),
        UP: rounded(other.weight(UP), 8, 32, True),
    }
    plain = replace(other, stored={n: t for n, t in other.stored.items() if n not in changed})
    write(plain.with_stored(changed), tmp_path / "other")
    files = saved(tmp_path / "other", tmp_path / "files")

    def facts() -> dict[str, Any]:
        return graph_facts(files, read_source(source), silent_report())[0]

    bad = {row["layer"]: row for row in facts()["layers"] if row["problem"] is not None}
    assert set(bad) == {Q, UP}
    assert "its integers" in bad[Q]["problem"]
    assert bad[Q]["cosine"] < 0.9999
    assert bad[UP]["claimed"] != bad[UP]["found"]
    floats = dict(other.floats.items())
    norm = next(name for name in floats if "norm" in name)
    floats[norm] = floats[norm] * 2
    write(replace(other, floats=floats), tmp_path / "norm")
    shutil.rmtree(files)
    saved(tmp_path / "norm", files)
    assert facts()["other_floats"] == [norm]
    octets = (files / "openvino_model.xml").read_bytes()
    (files / "openvino_model.xml").write_bytes(octets[: len(octets) // 2])
    assert "openvino_model.xml cannot be read" in facts()["unreadable"]
    (files / "openvino_model.bin").unlink()
    assert "openvino_model.bin is missing" in facts()["unreadable"]


def test_what_it_cannot_hold_is_refused_before_work(tmp_path: Path) -> None:
    def why(directory: Path) -> str:
        source = read_source(directory)
        found = refusal(source)
        assert found is not None
        with pytest.raises(CallFailure, match="Cannot write an OpenVINO folder"):
            convert_openvino(source, tmp_path / "files", silent_report())
        assert not (tmp_path / "files").exists()
        return found

    assert refusal(read_source(random_llama(0))) is None  # floats alone
    source = read(random_llama(0))
    codes = {Q: encoded(Q, source.weight(Q), format_named("nf4"), 64)}
    write(source.with_stored(codes), tmp_path / "nf4")
    assert "is stored as table" in why(tmp_path / "nf4")
    assert "merge: true" in why(adapted(artifact(4, 32, True, None), tmp_path / "adapter"))
    fixed = replace(rounded(source.weight(Q), 8, -1, True, -1), activation_scale=0.125)
    write(source.with_stored({Q: fixed}), tmp_path / "fixed")
    assert "has inputs of a fixed range" in why(tmp_path / "fixed")


@pytest.mark.parametrize("rounds", [False, True])
def test_optimum_loads_the_whole_folder(tmp_path: Path, rounds: bool) -> None:
    """With everything beside the graph; its conversion and its check are real workers."""
    from test_conversion import artifact as tiny_artifact
    from tiny_model import act

    python = exporter()
    source, files = tmp_path / "artifact", tmp_path / "files"
    if rounds:  # of embedding and head too, whose inputs OpenVINO rounds with the others
        act(source, "int8", {"activation_group_size": 32, "targets": "all"})
    else:
        tiny_artifact(source, symmetric=False)
    asked = {"format": "openvino", "artifact_dir": str(source)}
    made = run_worker(python, {"call": "convert", "output_dir": str(files), **asked})[-1]
    assert made["event"] == "result", made
    names = {path.name for path in files.iterdir()}
    assert made["result"]["notes"] == []
    assert {"openvino_tokenizer.xml", "openvino_detokenizer.xml", "tokenizer.json"} <= names
    assert "quantization_config" not in json.loads((files / "config.json").read_text())
    found = run_worker(python, {"call": "check_conversion", "files_dir": str(files), **asked})[-1]
    facts = found["result"]
    assert facts["not_opened"] is None
    assert facts["opened_by"] == "optimum-intel openvino"
    assert facts["logits_cosine"] > 0.999999
    assert (facts["rounded_kl"] is not None) == rounds
    assert facts["generated_text"]
    assert formula_bytes(read_source(source)) == facts["formula_bytes"]


def test_a_chain_of_decoders_is_made_simple_where_it_says_the_same(tmp_path: Path) -> None:
    """As tokenizers have that were made of a GGUF file; a graph of that chain cannot be made."""
    from types import SimpleNamespace

    from tokenizers import Tokenizer, decoders, models

    def simplified(vocabulary: list[str]) -> str:
        words = {word: place for place, word in enumerate(vocabulary)}
        inner = Tokenizer(models.BPE(words, []))
        inner.decoder = decoders.Sequence(
            [
                decoders.ByteFallback(),
                decoders.Fuse(),
                decoders.Replace("▁", " "),
                decoders.ByteLevel(),
            ]
        )
        simplify_decoder(SimpleNamespace(backend_tokenizer=inner))
        return type(inner.decoder).__name__

    assert simplified(["a", "Ġb"]) == "ByteLevel"
    assert simplified(["a", "<0x0A>"]) == "Sequence"
