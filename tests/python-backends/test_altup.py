"""Gemma 3n: four streams of a text beside each other, whose last layers take the keys and values of
layers before them. What methods round of it, and that it computes as transformers has it."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from evaluation_fixtures import Events
from random_models import common
from safetensors.torch import load_file, save_file
from test_architectures import facts, logits, plain
from test_odd_models import saved, vocabulary
from tiny_model import act
from transformers import Gemma3nConfig, Gemma3nTextConfig, Gemma4TextConfig
from whole_texts import assert_own_generations, assert_whole_texts

from pare_backends.calls import verify
from pare_backends.calls.import_model import ImportModelRequest
from pare_backends.calls.import_model import run as import_model
from pare_backends.checkpoint import load_dequantized, read
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.failures import CallFailure
from pare_backends.kv_cache.streaming import Params, attach
from pare_backends.progress import silent_report
from pare_backends.runtimes.transformers.session import TransformersSession
from pare_backends.serving.reader import TorchReader

KINDS = ["sliding_attention", "full_attention"]
SHARING: dict[str, Any] = {
    "num_hidden_layers": 4, "layer_types": KINDS * 2, "num_kv_shared_layers": 2,
    "sliding_window": 8, "intermediate_size": 96, "num_key_value_heads": 2, "head_dim": 16,
    "hidden_size_per_layer_input": 32,
}  # fmt: skip
STAYS = ("modality_router", "prediction_coefs", "correction_coefs", "embed_tokens_per_layer")
WHOLE = "Gemma3nForConditionalGeneration"
EIGHT = {"bits": 8, "group_size": 32}


@functools.cache
def written(kind: str = "gemma3n") -> Path:
    """A random model with two layers that take others' keys."""
    size = vocabulary()
    asked = {**common(size), **SHARING, "vocab_size_per_layer_input": size}
    config = (
        Gemma3nTextConfig(**asked, laurel_rank=32, activation_sparsity_pattern=[0.7, 0.7, 0.0, 0.0])
        if kind == "gemma3n"
        else Gemma4TextConfig(**asked, global_head_dim=32)
    )
    return saved(Path(tempfile.mkdtemp(prefix=f"pare-{kind}-")), config)


def language_model() -> PackedLM:
    return PackedLM(*load_dequantized(written()), 4, Events().report)


def test_what_weighs_the_streams_stays_in_floats_and_all_else_is_rounded(tmp_path: Path) -> None:
    result = act(tmp_path / "out", "rtn", {"bits": 4, "group_size": 32}, parent=written())
    made, own = read(tmp_path / "out"), plain(written())
    linear = {
        name
        for name, module in own.named_modules()
        if isinstance(module, torch.nn.Linear) and not name.endswith((*STAYS, "lm_head"))
    }
    assert set(made.stored) == linear and len(linear) == 7 + 4 * 9 + 2 * 2
    assert {name.split(".")[-2] for name in made.floats} >= set(STAYS)
    by_layer = made.floats["model.embed_tokens_per_layer.weight"].size
    parts = {part["part"]: part["bytes"] for part in result["floats"]}
    assert parts["embedding by layer"] == 2 * by_layer
    found = facts(written())
    assert found["linear_parameters"] == sum(made.weight(name).size for name in linear)
    assert found["intermediate_size"] == 96 and found["unpackable"] is None
    assert 0 <= result["size_bytes"] - result["formula_bytes"] < 25_000, "headers alone are extra"
    request = verify.VerifyRequest(str(tmp_path / "out"), str(written()))
    said = verify.run(request, silent_report())
    assert said["minimum_cosine"] > 0.99 and said["not_generated"] is None


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("rtn", EIGHT),
        ("gptq", {**EIGHT, "samples": 16}),
        ("awq", {**EIGHT, "samples": 4}),
        ("int8", {"activation_group_size": 32}),
    ],
)
def test_methods_round_it_to_nearly_the_same(
    method: str, params: dict[str, Any], tmp_path: Path
) -> None:
    act(tmp_path / "out", method, params, parent=written())
    wanted = logits(plain(written()))
    made = logits(load_dequantized(tmp_path / "out")[0])
    assert 0 < (made - wanted).abs().max() < 0.15 * wanted.std()


@pytest.mark.parametrize("kind", ["gemma3n", "gemma4"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("gptq", {**EIGHT, "samples": 4}),
        ("mixed", {"average_bits": 4.5, "group_size": 32, "samples": 2, "seqlen": 16}),
    ],
)
def test_blocks_that_run_one_by_one_find_the_keys_of_those_before(
    kind: str, method: str, params: dict[str, Any], tmp_path: Path
) -> None:
    """Of Gemma 4 too, whose projection of embeddings by layer is called where nothing is traced."""
    act(tmp_path / "out", method, params, parent=written(kind))
    source, made = read(written(kind)), read(tmp_path / "out")
    for layer in made.stored:
        own, wanted = made.weight(layer), source.weight(layer)
        cosine = float((own * wanted).sum() / np.linalg.norm(own) / np.linalg.norm(wanted))
        assert cosine > (0.7 if "down_proj" in layer else 0.9), layer


def test_log_likelihoods_are_those_of_whole_texts() -> None:
    assert_whole_texts(language_model(), plain(written()))


def test_generations_are_transformers_own() -> None:
    """Prompts of different lengths in one batch, longer than the window of its layers."""
    assert_own_generations(language_model(), plain(written()))


def test_what_is_read_in_parts_is_read_as_a_whole() -> None:
    tokens = np.random.default_rng(2).integers(3, 60, 40)
    with torch.no_grad():
        wanted = plain(written())(torch.from_numpy(tokens)[None]).logits[0]
    reader = TorchReader(load_dequantized(written())[0])
    reader.begin(tokens[:30])
    assert np.allclose(reader.extend(tokens[30:]), wanted[-1].numpy(), atol=1e-5)
    session = TransformersSession(str(written()))
    assert session.prefill(tokens[:30]) == int(wanted[29].argmax())
    assert session.append(tokens[30:39]) == int(wanted[38].argmax())
    assert session.decode(int(tokens[39])) == int(wanted[39].argmax())


@pytest.mark.parametrize("kind", ["gemma3n", "gemma4"])
def test_a_cache_that_layers_share_is_kept_whole(kind: str) -> None:
    assert "last layers read the keys and values" in facts(written(kind))["whole_cache"]
    with pytest.raises(CallFailure, match="last layers read the keys and values of layers before"):
        attach(load_dequantized(written(kind))[0], Params(3, 16))


def test_auto_round_says_that_it_cannot_tune_streams(tmp_path: Path) -> None:
    params = {"group_size": 32, "iters": 1, "samples": 2, "seqlen": 64}
    with pytest.raises(CallFailure, match="its blocks hand on four streams"):
        act(tmp_path / "out", "autoround", params, parent=written())


def test_the_text_part_of_a_whole_as_the_hub_has_it(tmp_path: Path) -> None:
    """Its files hold keys of layers that take others', which nobody reads. The whole itself is not
    built: its eye is timm's."""
    whole, own = tmp_path / "whole", load_file(written() / "model.safetensors")
    shutil.copytree(written(), whole)
    text = json.loads((whole / "config.json").read_text())
    said = {**Gemma3nConfig(text_config=text).to_dict(), "architectures": [WHOLE]}
    (whole / "config.json").write_text(json.dumps(said, default=str))
    inside = {name.replace("model.", "model.language_model.", 1): one for name, one in own.items()}
    unread = f"model.language_model.layers.{len(KINDS)}.self_attn.k_proj.weight"
    other = {unread: torch.ones(32, 64)}
    for tower in ("vision_tower", "audio_tower", "embed_vision", "embed_audio"):
        other[f"model.{tower}.some.weight"] = torch.ones(4, 4)
    save_file({**inside, **other}, whole / "model.safetensors", metadata={"format": "pt"})
    request = ImportModelRequest(str(whole), str(tmp_path / "text"), False)
    found = import_model(request, silent_report())
    assert found["architecture"] == "Gemma3nForCausalLM"
    assert found["parameters"] == facts(written())["parameters"]
    assert any("k_proj.weight" in note and "does not read" in note for note in found["notes"])
    assert torch.equal(logits(plain(tmp_path / "text")), logits(plain(written())))
