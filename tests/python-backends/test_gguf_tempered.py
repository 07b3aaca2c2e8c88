"""How models whose queries grow with their place are laid out in a GGUF file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from architecture_configs import YARN
from test_gguf_layout import config, keys_of

from pare_backends.failures import CallFailure
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout


def ministral3(**rope: Any) -> dict[str, Any]:
    said = {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1, **rope}
    return config(architectures=["Ministral3ForCausalLM"], rope_parameters=said)


def llama4(**changes: Any) -> dict[str, Any]:
    return config(
        **{
            "architectures": ["Llama4ForCausalLM"], "num_hidden_layers": 8, "num_local_experts": 16,
            "num_experts_per_tok": 1, "intermediate_size": 64, "intermediate_size_mlp": 96,
            "interleave_moe_layer_step": 2, "tie_word_embeddings": False, **changes,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rope", "why"),
    [
        (dict(rope_type="default"), "its rope_type is default, not one of yarn"),
        (dict(llama_4_scaling_beta=None), "its rope_parameters have no llama_4_scaling_beta"),
    ],
)
def test_rotations_of_ministral_3_that_nothing_computes_are_refused(
    rope: dict[str, Any], why: str
) -> None:
    with pytest.raises(CallFailure, match=why):
        GgufLayout(ministral3(**rope))


def test_a_temperature_grows_by_the_length_that_yarn_stretches() -> None:
    written = keys_of(GgufLayout(ministral3()))
    assert written["mistral3.attention.temperature_scale"] == 0.1
    assert written["mistral3.rope.scaling.original_context_length"] == 64
    # llama.cpp multiplies by yarn's usual factor, which mscale and mscale_all_dim cancel here.
    factor = written["mistral3.rope.scaling.attn_factor"]
    assert factor == pytest.approx(1 / 1.13863, rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (dict(num_local_experts=0), "it has no experts, which llama.cpp's llama4 has"),
        (dict(attention_chunk_size=4096), "its attention_chunk_size is 4096, llama.cpp takes 8192"),
        (dict(floor_scale=4096), "its floor_scale is 4096, llama.cpp takes 8192"),
        (dict(attn_scale=0.2), "its attn_scale is 0.2, llama.cpp takes 0.1"),
        (dict(attn_temperature_tuning=False), "its attn_temperature_tuning is false"),
        (dict(use_qk_norm=False), "its use_qk_norm is false, llama.cpp takes true"),
        (dict(num_local_experts=128, use_qk_norm=True), "its use_qk_norm is true, llama.cpp takes"),
        (dict(attention_bias=True), "its attention_bias is true"),
        (dict(moe_layers=[1, 3]), "its moe_layers are not every 2th"),
        (dict(no_rope_layers=[1] * 8), "its no_rope_layers leave out others"),
        (dict(layer_types=["full_attention"] * 8), "not every 4th of its layers, and no other"),
    ],
)
def test_what_llama_cpp_computes_otherwise_of_llama_4_is_refused(
    changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(CallFailure, match=why):
        GgufLayout(llama4(**changes))


def test_llama_4_is_read_as_the_hub_has_it() -> None:
    """Scout's frequencies are not blended; its own words for the widths of its layers."""
    scout = {
        "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 16.0, "low_freq_factor": 1.0,
        "high_freq_factor": 1.0, "original_max_position_embeddings": 64,
    }  # fmt: skip
    chunked = (["chunked_attention"] * 3 + ["full_attention"]) * 2
    said = {"layer_types": chunked, "moe_layers": [1, 3, 5, 7], "no_rope_layers": []}
    layout = GgufLayout(llama4(**said, rope_scaling=scout, rope_parameters=None))
    written = keys_of(layout)
    for key, value in (
        ("feed_forward_length", 96), ("expert_feed_forward_length", 64), ("expert_count", 16),
        ("interleave_moe_layer_step", 2), ("expert_used_count", 1), ("rope.freq_base", 500_000.0),
    ):  # fmt: skip
        assert written[f"llama4.{key}"] == value, key
    assert layout.rope is not None
    [factors] = layout.rope.tensors().values()
    assert set(factors.tolist()) == {1.0, 16.0}


def test_experts_of_llama_4_lie_turned_and_their_gate_apart() -> None:
    layout, name = GgufLayout(llama4()), "model.layers.1.feed_forward.experts.gate_up_proj"
    assert layout.names(name) == ["blk.1.ffn_gate_exps.weight", "blk.1.ffn_up_exps.weight"]
    assert layout.is_turned(name) and layout.is_of_experts(name)
    own = np.arange(16 * 128 * 3).reshape(16, 128, 3)
    gate, up = layout.apart(name, own)
    np.testing.assert_array_equal(gate[5], own[5, :64])
    np.testing.assert_array_equal(up[5], own[5, 64:])
    np.testing.assert_array_equal(layout.joined(name, [gate, up]), own)
