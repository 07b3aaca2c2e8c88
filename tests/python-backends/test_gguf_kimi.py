"""How Kimi Linear's configurations and its turned matrix are laid out in a GGUF file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from architecture_configs import KIMI
from test_gguf_layout import config, keys_of

from pare_backends.failures import CallFailure
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout


def kimi(**changes: Any) -> dict[str, Any]:
    return {
        **KIMI, "architectures": ["KimiLinearForCausalLM"], "tie_word_embeddings": False, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            dict(linear_num_heads=2),
            "its linear_num_heads is 2, llama.cpp takes its 4 num_attention",
        ),
        (dict(q_lora_rank=8), "it has a q_lora_rank, llama.cpp takes queries out of a token"),
        (dict(num_shared_experts=0), "it has no num_shared_experts"),
        (dict(moe_renormalize=False), "its moe_renormalize is false, llama.cpp takes true"),
        (dict(tie_word_embeddings=True), "its head is its embedding"),
        (dict(layer_types=["linear_attention"] * 4), "its layers all attend or all hold a state"),
        (
            dict(mlp_layer_types=["sparse", "dense", "sparse", "sparse"]),
            "its mlp_layer_types are not dense at first",
        ),
    ],
)
def test_what_llama_cpp_computes_otherwise_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(CallFailure, match=why):
        GgufLayout(config(**kimi(**changes)))


def test_kimi_is_read_as_the_hub_or_transformers_has_it() -> None:
    """The hub's object of layers that hold a state counts layers from one."""
    said = ("linear_head_dim", "linear_num_heads", "layer_types")
    inner = {
        "head_dim": 32, "num_heads": 4, "short_conv_kernel_size": 3, "kda_layers": [1, 3],
        "full_attn_layers": [2, 4],
    }  # fmt: skip
    own = config(**kimi(model_max_length=512, num_expert_group=1))
    hub = {key: value for key, value in own.items() if key not in said}
    hub |= {"linear_attn_config": inner, "first_k_dense_replace": 2, "rms_norm_eps": 1e-5}
    same = {"linear_conv_kernel_dim": 3, "mlp_layer_types": ["dense"] * 2 + ["sparse"] * 2}
    layout = GgufLayout(hub)
    written = keys_of(layout)
    assert written == keys_of(GgufLayout(own | same | {"rms_norm_eps": 1e-5}))
    for key, value in (
        ("attention.head_count_kv", [0, 1, 0, 1]), ("attention.key_length", 40),
        ("attention.value_length", 32), ("attention.key_length_mla", 24),
        ("attention.value_length_mla", 32), ("rope.dimension_count", 8), ("kda.head_dim", 32),
        ("ssm.conv_kernel", 3), ("leading_dense_block_count", 2), ("expert_used_count", 2),
        ("context_length", 512), ("expert_shared_count", 2),
    ):  # fmt: skip
        assert written[f"kimi-linear.{key}"] == value, key
    for name in ("mlp", "block_sparse_moe"):
        assert layout.name(f"model.layers.0.{name}.gate_proj.weight") == "blk.0.ffn_gate.weight"
    assert "adds 1e-05 to the mean square" in str(layout.notes)
    assert GgufLayout(own).notes == []


def test_keys_of_the_vector_lie_turned_beside_its_values_and_come_back() -> None:
    """A matrix of 4 heads with 16 rows of keys and 32 of values each."""
    layout, name = GgufLayout(config(**kimi())), "model.layers.1.self_attn.kv_b_proj.weight"
    assert layout.names(name) == ["blk.1.attn_k_b.weight", "blk.1.attn_v_b.weight"]
    assert not layout.holds_rows(name) and layout.holds_rows(name.replace("kv_b", "q"))
    own = np.arange(4 * 48 * 32, dtype=np.float32).reshape(4 * 48, 32)
    keys, values = layout.apart(name, own)
    np.testing.assert_array_equal(keys[2], own[2 * 48 : 2 * 48 + 16].T)
    np.testing.assert_array_equal(values[2], own[2 * 48 + 16 : 3 * 48])
    np.testing.assert_array_equal(layout.joined(name, [keys, values]), own)
