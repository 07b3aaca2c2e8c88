"""How Gemma 3n's configurations and tensors are laid out in a GGUF file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from architecture_configs import OTHERWISE
from gguf import GGUFReader
from runtime_fixtures import four_bit_model
from safetensors.numpy import load_file, save_file
from test_conversion import made
from test_gguf_layout import config, keys_of

from pare_backends.calls.speed import prompt_of
from pare_backends.conversion import gguf_files
from pare_backends.conversion.write import read_source
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout

SPARSE = [0.95] * 10 + [0.0] * 15


def gemma3n(**changes: Any) -> dict[str, Any]:
    return config(**{
        **OTHERWISE["Gemma3nForCausalLM"], "architectures": ["Gemma3nForCausalLM"],
        "hidden_activation": "gelu_pytorch_tanh", "vocab_size": 320, "head_dim": 16,
        "tie_word_embeddings": True, **changes,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (dict(num_kv_shared_layers=4), "21 of its 25 layers have keys of their own, llama.cpp tak"),
        (dict(num_kv_shared_layers=0), "25 of its 25 layers have keys of their own"),
        (dict(num_hidden_layers=12, num_kv_shared_layers=2), "10 of its 12 layers have keys"),
        (
            dict(activation_sparsity_pattern=[0.95] * 9 + [0.0] * 16),
            "its activation_sparsity_pattern is not 0.95 of the first 10 layers and 0 of the oth",
        ),
        (dict(activation_sparsity_pattern=[0.9, *SPARSE[1:]]), "its activation_sparsity_pattern"),
        (dict(num_hidden_layers=8, num_kv_shared_layers=0), "its activation_sparsity_pattern"),
        (dict(intermediate_size=[512] * 24 + [1024]), "its intermediate_size differs by layer"),
        (dict(altup_num_inputs=2), "its altup_num_inputs is 2, llama.cpp takes 4"),
        (dict(altup_active_idx=1), "its altup_active_idx is 1, llama.cpp takes 0"),
        (dict(altup_correct_scale=False), "its altup_correct_scale is false, llama.cpp takes true"),
        (dict(laurel_rank=32), "its laurel_rank is 32, llama.cpp takes 64"),
        (dict(hidden_size_per_layer_input=128), "its hidden_size_per_layer_input is 128"),
        (dict(final_logit_softcapping=20.0), "its final_logit_softcapping is 20.0"),
        (dict(vocab_size_per_layer_input=321), "its embeddings by layer have 321 rows"),
        (dict(layer_types=["full_attention"] * 25), "not every 5th of its layers, and no other"),
        (dict(hidden_size=72), "its hidden_size is 72, no multiple of 32"),
        (
            dict(rope_parameters={"sliding_attention": {"rope_type": "linear", "factor": 2.0}}),
            'its rope_type is "linear", llama.cpp takes "default" of layers with a window',
        ),
    ],
)
def test_what_llama_cpp_has_built_in_otherwise_is_refused(
    changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(CallFailure, match=why):
        GgufLayout(gemma3n(**changes))


def test_googles_models_are_taken_and_told_to_llama_cpp() -> None:
    """E2B's and E4B's config.json, as far as they differ from transformers' defaults."""
    for layers, shared, width in ((30, 10, 8192), (35, 15, 16384)):
        asked: dict[str, Any] = dict(
            num_hidden_layers=layers, num_kv_shared_layers=shared, hidden_size=2048,
            intermediate_size=[width] * layers, num_attention_heads=8, num_key_value_heads=2,
            head_dim=256, vocab_size=262_400, vocab_size_per_layer_input=262_144,
            sliding_window=512, activation_sparsity_pattern=[0.95] * 10 + [0.0] * (layers - 10),
        )  # fmt: skip
        layout = GgufLayout(gemma3n(**asked))
        written = keys_of(layout)
        for key, value in (
            ("altup.num_inputs", 4), ("altup.active_idx", 0), ("attention.sliding_window", 512),
            ("embedding_length_per_layer_input", 256), ("attention.shared_kv_layers", shared),
            ("feed_forward_length", [width] * layers), ("rope.freq_base", 5e4),
            ("rope.freq_base_swa", 2e3), ("final_logit_softcapping", None),
        ):  # fmt: skip
            assert written.get(f"gemma3n.{key}") == value, key
        assert f"of {width} features it is {1 / (2 * width):.0e} larger" in str(layout.notes)
        assert layout.added("model.embed_tokens_per_layer.weight", 262_144) == 256
        zeros = layout.unread()
        assert len(zeros) == 3 * shared
        assert zeros["blk.20.attn_k.weight"].shape == (512, 2048 // 32 * 18)


def test_streams_lie_in_one_tensor() -> None:
    layout = GgufLayout(gemma3n())
    names = [f"model.altup_projections.{stream}.weight" for stream in (2, 0, 1)]
    assert layout.stacked(names) == {"altup_proj.weight": sorted(names)}
    assert layout.name("model.altup_unembed_projections.1.weight") == "altup_unembd_proj.weight"
    assert layout.experts_used() == 1.0
    scale = "model.layers.3.altup.correct_output_scale"
    assert layout.name(scale) == "blk.3.altup_correct_scale.weight"


def test_what_nobody_reads_is_zeros_and_words_of_pictures_are_too(tmp_path: Path) -> None:
    """As the hub's files are: keys of layers that take others', and fewer embeddings by layer."""
    source = shutil.copytree(four_bit_model("Gemma3nForCausalLM"), tmp_path / "source")
    write_tokenizer(source)
    path = source / "model.safetensors"
    tensors, by_layer = load_file(path), "model.embed_tokens_per_layer.weight"
    tensors[by_layer] = tensors[by_layer][:300].copy()
    tensors["model.layers.22.self_attn.k_proj.weight"] = np.ones((32, 64), np.float16)
    save_file(tensors, path, metadata={"format": "pt"})
    said = json.loads((source / "config.json").read_text()) | {"vocab_size_per_layer_input": 300}
    (source / "config.json").write_text(json.dumps(said))
    files = made("gguf", source, tmp_path / "files")
    # Random weights go on with words that have no embeddings by layer: nothing is generated here.
    bytes_of = sum(int(one.n_bytes) for one in GGUFReader(files / "model.gguf").tensors)
    assert bytes_of == gguf_files.formula_bytes(read_source(str(source)))
    held = {one.name: one for one in GGUFReader(files / "model.gguf").tensors}
    rows = held["per_layer_token_embd.weight"].data
    assert rows.shape[0] == 320 and rows[299].any() and not rows[300:].any()
    for layer in range(20, 25):
        for name in ("attn_k.weight", "attn_v.weight", "attn_k_norm.weight"):
            assert not held[f"blk.{layer}.{name}"].data.any()
    assert held["blk.19.attn_k.weight"].data.any()
    assert prompt_of(source, 4096, 0).max() == 299, "words that only pictures have are none of it"
