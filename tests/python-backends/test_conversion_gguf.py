"""GGUF files of models whose positions are scaled: transformers passes over it, pare does not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from gguf import GGUFWriter
from runtime_fixtures import four_bit_model
from test_conversion import artifact, found, made, rounded
from test_llama_cpp import interpreter

from pare_backends.calls.conversion import check_conversion
from pare_backends.conversion.gguf_files import lacking
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.architectures.rope import Rope


def test_a_gguf_file_of_a_longer_context_is_read_with_it(tmp_path: Path) -> None:
    """transformers reads neither the divisors of Llama 3 nor a scale of positions."""
    rope = {"rope_theta": 10_000.0, "factor": 8.0}
    llama3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    old = {"original_max_position_embeddings": 16}
    for said in ({"rope_type": "llama3", **llama3, **old}, {"rope_type": "linear"}):
        source = artifact(tmp_path / said["rope_type"])
        config = json.loads((source / "config.json").read_text())
        config["rope_parameters"] = {**rope, **said}
        (source / "config.json").write_text(json.dumps(config))
        files = made("gguf", source, tmp_path / f"{said['rope_type']}-files")
        facts = found("gguf", files, source)
        assert "load it with llama.cpp" in lacking(files)[0]
        assert facts["not_opened"] is None and facts["logits_cosine"] > 0.9999
    plain = made("gguf", artifact(tmp_path / "plain"), tmp_path / "plain-files")
    assert lacking(plain) == []


def test_a_trial_without_a_packed_layer_is_written_in_floats(tmp_path: Path) -> None:
    source = artifact(tmp_path / "artifact", bits=16)
    files = made("gguf", source, tmp_path / "files")
    facts = found("gguf", files, source)
    assert facts["layers"] == [] and facts["other_floats"] == [] and facts["not_opened"] is None
    assert facts["logits_cosine"] > 0.9999 and facts["generated_text"]
    other = made("gguf", artifact(tmp_path / "packed"), tmp_path / "others")
    (files / "model.gguf").write_bytes((other / "model.gguf").read_bytes())
    assert found("gguf", files, source)["other_floats"], "floats of another model are told"


@pytest.mark.parametrize(
    "architecture",
    [
        "GPT2LMHeadModel",
        "GPTNeoXForCausalLM",
        "GemmaForCausalLM",
        "GraniteMoeSharedForCausalLM",
        "GptOssForCausalLM",
        "GraniteMoeHybridForCausalLM",
        "FalconH1ForCausalLM",
        "DbrxForCausalLM",
        "KimiLinearForCausalLM",
        "MiMoV2FlashForCausalLM",
        "GlmMoeDsaForCausalLM",
        "Llama4ForCausalLM",
        "Gemma3nForCausalLM",
    ],
)
def test_a_file_of_another_architecture_has_its_sources_weights(
    tmp_path: Path, architecture: str
) -> None:
    """Matrices that lie turned or are two in the file, heads that are fused, norms that add one,
    logarithms of what llama.cpp has, rows that are multiplied, a matrix whose half is turned."""
    source = shutil.copytree(four_bit_model(architecture), tmp_path / "source")
    write_tokenizer(source)
    files = made("gguf", source, tmp_path / "files")
    facts = found("gguf", files, source)
    assert facts["unreadable"] is None and facts["other_floats"] == []
    assert facts["layers"] and all(row["problem"] is None for row in facts["layers"])
    assert facts["tensor_bytes"] == facts["formula_bytes"]
    assert facts["not_opened"] is None and facts["not_generated"] is None
    assert facts["opened_by"] is None or facts["logits_cosine"] > 0.9999


@pytest.mark.parametrize("architecture", ["Gemma2ForCausalLM", "Gemma3ForCausalLM"])
def test_queries_are_scaled_by_the_width_of_a_head_where_no_key_says_it(
    tmp_path: Path, architecture: str
) -> None:
    """As in files of Gemma: transformers takes 256 of each."""
    source = shutil.copytree(four_bit_model(architecture), tmp_path / "source")
    write_tokenizer(source)
    facts = found("gguf", made("gguf", source, tmp_path / "files"), source)
    assert facts["opened_by"] == "transformers gguf" and facts["logits_cosine"] > 0.9999


@pytest.mark.parametrize(
    "architecture", ["Qwen2MoeForCausalLM", "ApertusForCausalLM", "SmolLM3ForCausalLM"]
)
def test_what_transformers_makes_nothing_of_is_read_by_llama_cpp(
    tmp_path: Path, architecture: str
) -> None:
    """It fails at a router, has no such activation, or does not know the architecture at all."""
    source = shutil.copytree(four_bit_model(architecture), tmp_path / "source")
    write_tokenizer(source)
    files = made("gguf", source, tmp_path / "files")
    asked = check_conversion.Request("gguf", str(files), str(source), interpreter())
    facts = check_conversion.run(asked, silent_report())
    assert facts["other_floats"] == [] and facts["not_opened"] is None
    assert facts["opened_by"] == "llama.cpp" and 0 < facts["rounded_kl"] < 1e-3
    assert facts["logits_cosine"] > 0.9999
    path = files / "model.gguf"
    path.write_bytes(path.read_bytes().replace(b"block_count", b"block_coun_"))
    said = check_conversion.run(asked, silent_report())["not_opened"]
    assert "block_count is not what the model's file says" in said


def test_a_setting_that_is_written_a_little_wrong_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inputs in 8 bits part logits as far as a base of the rotation that is a few times off."""
    source = shutil.copytree(four_bit_model("SmolLM3ForCausalLM"), tmp_path / "source")
    write_tokenizer(source)
    own = Rope.write_keys

    def wrong(rope: Rope, writer: GGUFWriter) -> None:
        rope.theta /= 50
        own(rope, writer)
        rope.theta *= 50

    monkeypatch.setattr(Rope, "write_keys", wrong)
    files = made("gguf", source, tmp_path / "files")
    asked = check_conversion.Request("gguf", str(files), str(source), interpreter())
    facts = check_conversion.run(asked, silent_report())
    assert facts["not_opened"] is None and facts["logits_cosine"] < 0.9999


@pytest.mark.parametrize("architecture", ["mixtral", "qwen3_moe"])
def test_the_experts_of_a_layer_lie_in_one_tensor(tmp_path: Path, architecture: str) -> None:
    source = rounded(architecture, tmp_path / architecture)
    config = json.loads((source / "config.json").read_text())
    config |= {"norm_topk_prob": True, "sliding_window": None}
    (source / "config.json").write_text(json.dumps(config))
    files = made("gguf", source, tmp_path / "files")
    facts = found("gguf", files, source)
    assert facts["other_floats"] == [] and facts["layers"]
    assert all(row["problem"] is None and row["cosine"] > 0.9999 for row in facts["layers"])
    assert facts["tensor_bytes"] == facts["formula_bytes"]


def test_a_folder_without_a_tokenizer_is_said_so(tmp_path: Path) -> None:
    """Of Qwen's transformers makes a tokenizer without words."""
    source = shutil.copytree(four_bit_model("Qwen3ForCausalLM"), tmp_path / "source")
    for path in source.glob("tokenizer*"):
        path.unlink()
    files = made("gguf", source, tmp_path / "files")
    with pytest.raises(CallFailure, match="its tokenizer makes no token of"):
        found("gguf", files, source)
