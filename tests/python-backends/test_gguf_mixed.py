"""How configurations of mixtures and of latent attention are laid out in a GGUF file."""

from __future__ import annotations

from typing import Any

import pytest
from architecture_configs import OTHERWISE, YARN
from test_gguf_layout import config, keys_of

from pare_backends.failures import CallFailure
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout


def of(family: str, **changes: Any) -> dict[str, Any]:
    name = f"{family}ForCausalLM"
    own = {"tie_word_embeddings": False, **OTHERWISE[name], **changes}
    return config(architectures=[name], **own)


def turned(share: float, kind: str = "default") -> dict[str, Any]:
    """Rotations of layers that see all tokens, by half a head, and of ones with a window."""
    return {
        "full_attention": {"rope_type": "default", "partial_rotary_factor": 0.5},
        "sliding_attention": {"rope_type": kind, "partial_rotary_factor": share},
    }


@pytest.mark.parametrize(
    ("family", "changes", "why"),
    [
        ("SolarOpen", dict(n_group=2), "its n_group is 2, llama.cpp takes 1"),
        ("Youtu", dict(attention_bias=True), "its attention_bias is true, llama.cpp takes false"),
        ("Youtu", dict(num_hidden_layers=26), "it has 26 layers and a q_lora_rank"),
        ("Youtu", dict(rope_interleave=False), "its rope_interleave is false"),
        ("Afmoe", dict(mup_enabled=False), "its mup_enabled is not true"),
        ("Afmoe", dict(num_shared_experts=0), "it has no num_shared_experts"),
        ("Afmoe", dict(attention_bias=True), "its attention_bias is true"),
        ("Afmoe", dict(sliding_window=None), "it has no sliding_window"),
        ("Afmoe", dict(layer_types=["sliding_attention"] * 5), "not every 4th of its layers"),
        ("MiMoV2Flash", dict(routed_scaling_factor=2.5), "its routed_scaling_factor is 2.5"),
        ("MiMoV2Flash", dict(norm_topk_prob=False), "its norm_topk_prob is false"),
        ("MiMoV2Flash", dict(attention_bias=True), "its attention_bias is true"),
        ("MiMoV2Flash", dict(n_group=2), "its n_group is 2, llama.cpp takes 1"),
        ("MiMoV2Flash", dict(tie_word_embeddings=True), "its head is its embedding"),
        ("MiMoV2Flash", dict(layer_types=["full_attention"] * 4), "none of its layers has a win"),
        ("MiMoV2Flash", dict(rope_parameters={"rope_theta": 1e4}), "its rope_parameters are not"),
        ("MiMoV2Flash", dict(rope_parameters=turned(0.25)), "factor is 0.5 and 0.25, llama.cpp"),
        ("MiMoV2Flash", dict(rope_parameters=turned(0.5, "linear")), "of layers with a window"),
        ("GlmMoeDsa", dict(index_head_dim=32), "its index_head_dim is 32, llama.cpp takes a power"),
        ("GlmMoeDsa", dict(index_head_dim=192), "its index_head_dim is 192, llama.cpp takes a"),
        ("GlmMoeDsa", dict(indexer_types=["shared"] * 4), "its first layer has no indexer"),
        ("GlmMoeDsa", dict(q_lora_rank=None), "it has no q_lora_rank"),
        ("GlmMoeDsa", dict(n_shared_experts=0), "no n_shared_experts, llama.cpp takes both"),
        ("GlmMoeDsa", dict(attention_bias=True), "its attention_bias is true"),
        ("GlmMoeDsa", dict(rope_parameters=YARN), "its rope_type is yarn, not one of default"),
        (
            "GlmMoeDsa",
            dict(mlp_layer_types=["sparse", "dense", "sparse", "sparse"]),
            "its mlp_layer_types are not dense at first",
        ),
        ("SolarOpen", dict(n_shared_experts=0), "it has no n_shared_experts"),
    ],
)
def test_what_llama_cpp_computes_otherwise_is_refused(
    family: str, changes: dict[str, Any], why: str
) -> None:
    GgufLayout(of(family))
    with pytest.raises(CallFailure, match=why):
        GgufLayout(of(family, **changes))


def test_every_layer_of_solar_open_is_a_mixture_whatever_its_config_says() -> None:
    """As its hub's config does, which has GLM's settings of dense layers; heads turn whole."""
    hub = of("SolarOpen", first_k_dense_replace=1, intermediate_size=10240)
    written = keys_of(GgufLayout(hub))
    assert "glm4moe.leading_dense_block_count" not in written
    assert written["glm4moe.expert_feed_forward_length"] == 64
    assert written["glm4moe.rope.dimension_count"] == 16


def test_youtu_is_deepseeks_whose_layers_are_all_dense() -> None:
    """Its yarn scales queries too. transformers loads no embedding of what pads."""
    layout = GgufLayout(of("Youtu"))
    written = keys_of(layout)
    assert written["deepseek2.leading_dense_block_count"] == layout.layers == 2
    assert "deepseek2.expert_count" not in written and layout.experts_used() == 1.0
    assert written["deepseek2.rope.scaling.yarn_log_multiplier"] == 0.1
    assert layout.notes == []
    assert "the embedding of token 7, which pads" in str(
        GgufLayout(of("Youtu", pad_token_id=7)).notes
    )


def test_afmoe_says_its_dense_layers_and_the_scale_of_its_experts() -> None:
    """In its own words, of which one is read by nobody: their weights always sum to one."""
    layout = GgufLayout(of("Afmoe", route_norm=False, norm_topk_prob=False))
    written = keys_of(layout)
    for key, value in (
        ("leading_dense_block_count", 1), ("expert_shared_count", 2), ("expert_weights_scale", 2.8),
        ("expert_weights_norm", True), ("attention.sliding_window", 8),
    ):  # fmt: skip
        assert written[f"afmoe.{key}"] == value, key
    names = {
        "self_attn.gate_proj.weight": "attn_gate.weight",
        "mlp.expert_bias": "exp_probs_b.bias",
        "mlp.router.gate.weight": "ffn_gate_inp.weight",
        "mlp.experts.3.up_proj.weight": "ffn_up_exps.weight",
    }
    for own, there in names.items():
        assert layout.name(f"model.layers.1.{own}") == f"blk.1.{there}"


def test_mimo_is_read_as_the_hub_or_transformers_has_it() -> None:
    """The hub's words of layers with windows are read by nobody: what transformers takes for
    granted is the same. Layers that guess a further token are left out."""
    own = of(
        "MiMoV2Flash", num_hidden_layers=7, head_dim=192, v_head_dim=128, num_key_value_heads=4
    )
    said = ("layer_types", "mlp_layer_types", "rope_parameters", "attention_value_scale")
    hub = {key: value for key, value in own.items() if key not in said}
    hub |= {"routed_scaling_factor": None, "swa_rope_theta": 1e4, "rope_theta": 5e6,
            "partial_rotary_factor": 0.334, "hybrid_layer_pattern": [0, 1, 1, 1, 1, 0]}  # fmt: skip
    layout = GgufLayout(hub)
    written = keys_of(layout)
    for key, value in (
        ("attention.head_count_kv", [4, 8, 8, 8, 8, 4, 8]), ("attention.key_length", 192),
        ("attention.value_length", 128), ("attention.value_scale", 0.707),
        ("attention.sliding_window_pattern", [False, True, True, True, True, False, True]),
        ("rope.dimension_count", 64), ("rope.freq_base", 5e6), ("rope.freq_base_swa", 1e4),
    ):  # fmt: skip
        assert written[f"mimo2.{key}"] == value, key
    for sink in ("sinks", "attention_sink_bias"):
        assert layout.name(f"model.layers.1.self_attn.{sink}") == "blk.1.attn_sinks.weight"
    assert layout.is_left_out("model.mtp.layers.0.self_attn.q_proj.weight")


def test_layers_of_glm_5_that_take_what_another_found_are_told_by_name_or_by_how_often() -> None:
    """As GLM-5.2's config and transformers' have them; the cache holds a vector of 32 features and
    8 that are rotated."""
    own = of("GlmMoeDsa", num_hidden_layers=7)
    del own["indexer_types"]
    for said, full in (
        ({"indexer_types": ["full"] * 6 + ["shared"]}, [True] * 6 + [False]),
        ({"index_topk_pattern": "FSFSFSF"}, [True, False] * 3 + [True]),
        (
            {"index_topk_freq": 4, "index_skip_topk_offset": 2},
            [True, True, False, False, False, True, False],
        ),
        ({}, [True] * 7),
    ):
        layout = GgufLayout({**own, **said})
        written = keys_of(layout)
        assert written["glm-dsa.attention.indexer.types"] == full
    for key, value in (
        ("attention.head_count_kv", 1), ("attention.key_length", 40),
        ("attention.value_length", 32), ("attention.key_length_mla", 24),
        ("attention.value_length_mla", 32), ("rope.dimension_count", 8),
        ("attention.indexer.head_count", 32), ("attention.indexer.key_length", 64),
        ("attention.indexer.top_k", 24), ("expert_group_used_count", 2),
        ("leading_dense_block_count", 1),
    ):  # fmt: skip
        assert written[f"glm-dsa.{key}"] == value, key
    kept = "model.layers.0.self_attn.kv_b_proj.weight"
    assert layout.names(kept) == ["blk.0.attn_k_b.weight", "blk.0.attn_v_b.weight"]
    assert not layout.holds_rows(kept)
    keys = dict(mlp_layer_types=["dense"] * 3 + ["sparse"] * 4, first_k_dense_replace=1)
    written = keys_of(GgufLayout({**own, **keys}))
    assert written["glm-dsa.leading_dense_block_count"] == 3
