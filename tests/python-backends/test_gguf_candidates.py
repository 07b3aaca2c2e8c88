"""GGUF files that were made elsewhere as checkpoints of a model: of every architecture that is
written, and as llama.cpp's own converter and others lay them out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from architecture_variants import VARIANTS
from gguf import GGUFReader, GGUFWriter
from gguf.quants import dequantize
from runtime_fixtures import folder, four_bit_model

from pare_backends.checkpoint import read
from pare_backends.elsewhere.gguf_file import open_gguf_file
from pare_backends.elsewhere.given import Given
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.architectures.known import ARCHITECTURES
from pare_backends.runtimes.llama_cpp.architectures.parts import LatentParts
from pare_backends.runtimes.llama_cpp.make import write_gguf

ALL = [(name, variant) for name in ARCHITECTURES for variant in ("", *VARIANTS.get(name, {}))]
TORN = ("Kimi", "GlmMoeDsa", "Glm4MoeLite", "DeepseekV32", "HYV4")
"""Whose files hold matrices of latent keys and values half turned: no blocks are of them."""


@functools.cache
def floats_of(architecture: str, variant: str = "") -> Path:
    """A model of random weights, with a tokenizer."""
    four_bit_model(architecture, variant)
    directory = folder() / f"{architecture}{variant}-floats"
    write_tokenizer(directory)
    return directory


def file_of(directory: Path, out: Path, precision: str = "f32") -> Path:
    out.mkdir(exist_ok=True)
    write_gguf(directory, out, False, silent_report(), precision)
    return out / "model.gguf"


def opened(path: Path, original: Path) -> Given:
    return open_gguf_file(path, original, "float32")


def refusal(path: Path, original: Path) -> str:
    with pytest.raises(CallFailure) as caught:
        for held in opened(path, original).tensors.values():
            held.read()
    return caught.value.message


def weight_of(given: Given, tensor: str) -> np.ndarray:
    """What the file holds of a tensor of the model, multiplied out."""
    held = given.tensors.get(tensor) or given.tensors[tensor.removesuffix(".weight")]
    own: Any = held.read()
    return np.asarray(own if held.like is None else own.weight())


@pytest.mark.parametrize(("architecture", "variant"), ALL)
def test_a_file_holds_the_tensors_of_the_model(
    architecture: str, variant: str, tmp_path: Path
) -> None:
    """Of floats their very values, where only a product is rounded; of blocks their own numbers."""
    original = floats_of(architecture, variant)
    given = opened(file_of(original, tmp_path / "floats"), original)
    wanted = read(original)
    for name, values in wanted.floats.items():
        own = weight_of(given, name)
        assert own.shape == values.shape and np.allclose(own, values, rtol=1e-5, atol=1e-6), name
    packed = four_bit_model(architecture, variant)
    given = opened(file_of(packed, tmp_path / "blocks"), original)
    stored = read(packed).stored
    blocks = {name for name, held in given.tensors.items() if held.like is not None}
    kept = {name for name in stored if not (architecture.startswith(TORN) and "kv_b" in name)}
    assert blocks >= kept
    for name in stored:
        # A block's scale is float16, and that of a row that is multiplied is rounded twice.
        own, right = weight_of(given, f"{name}.weight"), stored[name].weight()
        assert np.allclose(own, right, rtol=4e-3, atol=1e-6), name


def rewritten(
    path: Path,
    given: Path,
    tensors: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]] = dict,
    keys: dict[str, Any] | None = None,
) -> Path:
    """The file with its tensors, in floats, and single keys otherwise."""
    reader = GGUFReader(given)
    architecture = str(reader.fields["general.architecture"].contents())
    writer = GGUFWriter(path, architecture)
    changed = dict(keys or {})
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = changed.pop(name.removeprefix(f"{architecture}."), field.contents())
        if value is not None:
            writer.add_key_value(name, value, field.types[0], field.types[-1])
    for name, value in changed.items():
        add = writer.add_uint32 if isinstance(value, int) else writer.add_float32
        add(f"{architecture}.{name}", value)
    held = {
        one.name: np.asarray(dequantize(one.data, one.tensor_type), np.float32)
        for one in reader.tensors
    }
    for name, values in tensors(held).items():
        writer.add_tensor(name, np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_halves_of_latent_matrices_are_one_as_the_converter_writes_them(tmp_path: Path) -> None:
    """It says of them another number of heads and other widths."""
    original = floats_of("DeepseekV3ForCausalLM")
    whole = file_of(original, tmp_path / "files")
    halves = LatentParts(heads=4, width=16)

    def torn(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        made = {}
        for name, values in tensors.items():
            if name.endswith("attn_kv_b.weight"):
                keys, own = halves.apart(values, 0)
                made |= {name.replace("kv_b", "k_b"): keys, name.replace("kv_b", "v_b"): own}
            else:
                made[name] = values
        return made

    said = {
        "attention.head_count_kv": 1, "attention.key_length": 40, "attention.value_length": 32,
        "attention.key_length_mla": 24, "attention.value_length_mla": 32,
    }  # fmt: skip
    given = opened(rewritten(tmp_path / "m.gguf", whole, torn, said), original)
    for name, values in read(original).floats.items():
        assert np.allclose(weight_of(given, name), values, rtol=1e-5, atol=1e-6), name


def test_words_that_no_text_has_may_lack(tmp_path: Path) -> None:
    """As in files of Gemma 3, whose embedding is rounded up to a multiple of 64."""
    original = floats_of("LlamaForCausalLM")
    whole = file_of(original, tmp_path / "files")

    def fewer(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        words = ("token_embd.weight", "output.weight")
        return {name: one[:300] if name in words else one for name, one in tensors.items()}

    given = opened(rewritten(tmp_path / "m.gguf", whole, fewer), original)
    own = weight_of(given, "model.embed_tokens.weight")
    assert own.shape == (320, 64) and not own[300:].any() and own[:300].any(axis=1).all()
    assert given.notes == (
        "the file has no row for 20 of the model's 320 words: they count as zeros, as no text"
        " has them",
    )


def test_a_head_beside_a_tied_embedding_is_told(tmp_path: Path) -> None:
    original = floats_of("Gemma2ForCausalLM")
    whole = file_of(original, tmp_path / "files")
    embedding = "token_embd.weight"
    made = rewritten(
        tmp_path / "m.gguf", whole, lambda held: held | {"output.weight": held[embedding]}
    )
    [note] = opened(made, original).notes
    assert note.startswith("the file has a head of its own")
    assert opened(whole, original).notes == ()


def test_layers_that_guess_a_further_token_are_passed_over(tmp_path: Path) -> None:
    original = floats_of("Qwen3_5ForCausalLM")
    whole = file_of(original, tmp_path / "files")

    def guessing(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return tensors | {
            "blk.6.attn_q.weight": np.ones((4, 64), np.float32),
            "blk.6.nextn.eh_proj.weight": np.ones((4, 64), np.float32),
        }

    said = {"block_count": 7, "nextn_predict_layers": 1}
    made = rewritten(tmp_path / "m.gguf", whole, guessing, said)
    assert opened(made, original).tensors.keys() == opened(whole, original).tensors.keys()
    made = rewritten(tmp_path / "n.gguf", whole, guessing, {"block_count": 7})
    assert "block_count is 7 in it, and 6 in the model" in refusal(made, original)


@pytest.mark.parametrize(
    ("architecture", "keys", "why"),
    [
        ("GraniteForCausalLM", {"logit_scale": 9.0}, "logit_scale is 9.0 in it, and 1.5 in the"),
        ("LlamaForCausalLM", {"logit_scale": 9.0}, "it says logit_scale: 9.0, which the model has"),
        ("LlamaForCausalLM", {"attention.head_count": 2}, "attention.head_count is 2 in it, and 4"),
        (
            "GraniteForCausalLM",
            {"embedding_scale": None},
            "embedding_scale is 1.0 in it, as it does not say it, and 2.5 in the model",
        ),
        (
            "SmolLM3ForCausalLM",
            {"attention.layer_norm_rms_epsilon": 1e-3},
            "attention.layer_norm_rms_epsilon is 0.001",
        ),
    ],
)
def test_what_is_said_otherwise_than_the_model_has_it_is_refused(
    architecture: str, keys: dict[str, Any], why: str, tmp_path: Path
) -> None:
    original = floats_of(architecture)
    whole = file_of(original, tmp_path / "files")
    assert why in refusal(rewritten(tmp_path / "m.gguf", whole, dict, keys), original)


def test_tensors_of_other_shapes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    original = floats_of("LlamaForCausalLM")
    whole = file_of(original, tmp_path / "files")
    up = "blk.1.ffn_up.weight"
    for made in (lambda one: one[:-8], np.transpose):
        path = rewritten(
            tmp_path / "m.gguf", whole, lambda held, made=made: held | {up: made(held[up])}
        )
        with pytest.raises(CallFailure, match=f"{up} is .* in it, and model.layers.1.mlp.up_proj"):
            opened(path, original)


def test_factors_of_the_rotation_must_be_the_models(tmp_path: Path) -> None:
    original = floats_of("Llama4ForCausalLM")
    whole = file_of(original, tmp_path / "files")
    name = "rope_freqs.weight"
    other = rewritten(tmp_path / "a.gguf", whole, lambda held: held | {name: held[name] * 2})
    assert "its rope_freqs.weight are not the model's" in refusal(other, original)
    none = rewritten(
        tmp_path / "b.gguf", whole, lambda held: {k: v for k, v in held.items() if k != name}
    )
    assert "it holds no tensor rope_freqs.weight" in refusal(none, original)
