"""How configurations of architectures that gguf-py does not name are laid out in a GGUF file."""

from __future__ import annotations

from typing import Any

import pytest
from gguf import MODEL_ARCH, MODEL_ARCH_NAMES
from newer_configs import FULL, STRETCHED, WINDOW
from test_gguf_layout import keys_of
from test_gguf_mixed import of

from pare_backends.failures import CallFailure
from pare_backends.runtimes.llama_cpp.architectures.known import ARCHITECTURES
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import (
    NewerKind,
    name_of,
    tensor_names,
)
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout

PLAIN = {"rope_type": "default", "rope_theta": 5e3}
COMBINED = "shared_expert_combination_strategy"


@pytest.mark.parametrize(
    ("family", "changes", "why"),
    [
        ("GraniteSWA", dict(sliding_window=None), "it has no sliding_window"),
        ("GraniteSWA", dict(layer_rope_theta=[0, 2, 3, 0, 2]), "theta is 2 and 3, llama.cpp takes"),
        ("GraniteMoeSWA", dict(num_local_experts=0), "it has no num_local_experts"),
        ("Mellum", dict(sliding_window=None), "it has no sliding_window, and layers with one"),
        (
            "Mellum",
            dict(rope_parameters={FULL: PLAIN, WINDOW: {**PLAIN, "rope_theta": 2e3}}),
            "its rope_theta is 5000.0 and 2000.0, llama.cpp takes one",
        ),
        (
            "Mellum",
            dict(rope_parameters={FULL: STRETCHED, WINDOW: STRETCHED}),
            'its rope_type is "yarn", llama.cpp takes "default" of layers with a window',
        ),
        ("Mellum", dict(mlp_layer_types=["dense"] + ["sparse"] * 3), "some of its mlp_layer_types"),
        ("Mellum", dict(norm_topk_prob=False), "its norm_topk_prob is false"),
        ("Mellum", dict(attention_bias=True), "its attention_bias is true"),
        ("Mellum", dict(tie_word_embeddings=True), "its head is its embedding"),
        ("Cohere2Moe", dict(sliding_window=None), "it has no sliding_window"),
        ("Cohere2Moe", {COMBINED: "sum"}, f"its {COMBINED} is sum, llama.cpp takes average"),
        (
            "Cohere2Moe",
            dict(prefix_dense_sliding_window_pattern=4),
            "llama.cpp rotates every dense layer",
        ),
        ("Cohere2Moe", dict(attention_bias=True), "its attention_bias is true"),
        (
            "Cohere2Moe",
            dict(mlp_layer_types=["sparse", "dense"] + ["sparse"] * 4),
            "its mlp_layer_types are not dense at first",
        ),
        ("HYV3", dict(num_shared_experts=0), "it has no num_shared_experts"),
        ("HYV3", dict(attention_bias=True), "its attention_bias is true"),
        ("HYV3", dict(mlp_bias=True), "its mlp_bias is true"),
        ("Laguna", dict(sliding_window=None), "it has no sliding_window, and layers with one"),
        ("Laguna", dict(rope_parameters={FULL: PLAIN}), "say nothing of sliding_attention"),
        (
            "Laguna",
            dict(rope_parameters={FULL: PLAIN, WINDOW: STRETCHED}),
            'its rope_type is "yarn", llama.cpp takes "default" of layers with a window',
        ),
        ("Laguna", dict(attention_bias=True), "its attention_bias is true"),
        ("Laguna", dict(moe_router_logit_softcapping=30.0), "logit_softcapping is 30.0, llama.cpp"),
        (
            "Laguna",
            dict(mlp_layer_types=["sparse", "dense", "sparse", "sparse"]),
            "its mlp_layer_types are not dense at first",
        ),
        ("DeepseekV32", dict(index_head_dim=32), "its index_head_dim is 32, llama.cpp takes"),
        ("DeepseekV32", dict(q_lora_rank=None), "it has no q_lora_rank"),
        (
            "DeepseekV32",
            dict(rope_parameters={**STRETCHED, "mscale": 1.0, "mscale_all_dim": 0.7}),
            "its mscale is 1.0 and its mscale_all_dim 0.7",
        ),
        ("HYV4", dict(swiglu_limit=0.0), "its swiglu_limit is 0, by which the library cuts off"),
        ("HYV4", dict(index_head_dim=8), "its index_head_dim is 8, llama.cpp wants more than the"),
        ("HYV4", dict(indexer_types=["shared"] * 4), "its first layer has no indexer"),
        ("HYV4", dict(tie_word_embeddings=True), "its head is its embedding"),
        ("HYV4", dict(n_shared_experts=0), "no n_shared_experts, llama.cpp takes both"),
        ("HYV4", dict(rope_parameters=STRETCHED), "its rope_type is yarn, not one of default"),
        ("BitNet", dict(hidden_act="relu2"), "its hidden_act is relu2, llama.cpp takes silu"),
        ("BitNet", dict(tie_word_embeddings=False), "its head is not its embedding"),
        ("BitNet", dict(attention_bias=True), "its attention_bias is true"),
        ("BitNet", dict(head_dim=32), "its heads have 128 features together"),
        (
            "BitNet",
            dict(quantization_config={"quant_method": "bitnet"}),
            "its quantization_config makes other weights",
        ),
    ],
)
def test_what_llama_cpp_computes_otherwise_is_refused(
    family: str, changes: dict[str, Any], why: str
) -> None:
    GgufLayout(of(family))
    with pytest.raises(CallFailure, match=why):
        GgufLayout(of(family, **changes))


def test_bitnet_squares_where_its_config_says_nothing() -> None:
    """transformers' default, which the one model of the hub has."""
    own = of("BitNet")
    del own["hidden_act"]
    with pytest.raises(CallFailure, match="its hidden_act is relu2"):
        GgufLayout(own)


def test_a_newer_kind_is_one_that_gguf_py_does_not_name() -> None:
    """Else the library's own names would be the better ones."""
    newer = [one.kind for one in ARCHITECTURES.values() if isinstance(one.kind, NewerKind)]
    assert len(newer) == 8
    assert not {name_of(kind) for kind in newer} & set(MODEL_ARCH_NAMES.values())
    assert name_of(MODEL_ARCH.GPT2) == "gpt2"


def test_names_of_tensors_are_those_of_a_kind_and_of_what_it_is_like() -> None:
    names = tensor_names(ARCHITECTURES["LagunaForCausalLM"].kind, 2)
    for own, there in (
        ("model.layers.1.self_attn.g_proj.weight", "blk.1.attn_gate.weight"),
        ("model.layers.1.mlp.gate.weight", "blk.1.ffn_gate_inp.weight"),
        ("model.layers.2.mlp.gate.weight", None),  # no such layer
        ("model.layers.1.self_attn.gate_proj.weight", None),
    ):
        assert names.get_name(own, (".weight",)) == there
    bias = GgufLayout(of("HYV3")).name("model.layers.1.mlp.expert_bias")
    assert bias == "blk.1.exp_probs_b"  # llama.cpp asks for it without an ending


def silent(family: str, *said: str) -> dict[str, Any]:
    """A configuration that leaves this to transformers."""
    own = {key: value for key, value in of(family).items() if key not in said}
    return {key: value for key, value in own.items() if key not in ("rope_theta", "head_dim")}


@pytest.mark.parametrize(
    ("family", "said", "expected"),
    [
        (
            "GraniteSWA",
            ("layer_types", "layer_rope_theta", "rope_parameters", "sliding_window"),
            {
                "attention.sliding_window_pattern": [False, True, True, True, False],
                "attention.rope_pattern": [True] * 5,
                "attention.sliding_window": 128,
                "rope.freq_base": 1e4,
            },
        ),
        ("Mellum", ("layer_types", "rope_parameters"), {"rope.freq_base": 5e5}),
        (
            "Cohere2Moe",
            ("layer_types", "mlp_layer_types"),
            {
                "attention.sliding_window_pattern": [True, True, True, False, True, True],
                "leading_dense_block_count": 0,
                "expert_feed_forward_length": 64,
                "feed_forward_length": 128,
            },
        ),
        (
            "HYV3",
            ("rope_parameters", "num_shared_experts"),
            {
                "rope.freq_base": 11_158_840.0,
                "expert_weights_scale": 2.826,
                "expert_shared_feed_forward_length": 64,
            },
        ),
        (
            "Laguna",
            (
                "layer_types",
                "mlp_layer_types",
                "rope_parameters",
                "num_attention_heads_per_layer",
            ),
            {
                "attention.head_count": [4] * 4,
                "leading_dense_block_count": 1,
                "attention.key_length": 128,
                "rope.dimension_count": 64,
                "rope.freq_base": 5e5,
            },
        ),
        (
            "HYV4",
            ("indexer_types", "swiglu_limit", "hc_mult", "hc_magnitude", "index_topk"),
            {
                "attention.indexer.types": [True, True, False, False],
                "attention.indexer.top_k": 2048,
                "swiglu_clamp_exp": [10.0] * 4,
                "hyper_connection.count": 4,
                "hyper_connection.magnitude": 2.0,
                "leading_dense_block_count": 1,
            },
        ),
        ("BitNet", ("rope_parameters",), {"rope.freq_base": 5e5}),
    ],
)
def test_what_a_config_does_not_say_is_what_transformers_takes(
    family: str, said: tuple[str, ...], expected: dict[str, Any]
) -> None:
    layout = GgufLayout(silent(family, *said))
    written = keys_of(layout)
    for key, value in expected.items():
        assert written[f"{layout.architecture}.{key}"] == value, key


def test_dense_layers_are_told_by_their_count_too() -> None:
    """As the hub's Command A+ does; they have windows by a period of their own."""
    own = silent("Cohere2Moe", "layer_types", "mlp_layer_types")
    own |= {"first_k_dense_replace": 2, "prefix_dense_sliding_window_pattern": 1}
    written = keys_of(GgufLayout(own))
    assert written["cohere2moe.leading_dense_block_count"] == 2
    pattern = written["cohere2moe.attention.sliding_window_pattern"]
    assert pattern == [False, False, True, True, True, False]


@pytest.mark.parametrize(
    ("own", "there"),
    [
        ("layers.1.hc_attn_layer.hc_pre.hc_fn", "blk.1.hc_attn_fn.weight"),
        ("layers.1.hc_pre.hc_attn_layer.hc_fn", "blk.1.hc_attn_fn.weight"),
        ("layers.1.hc_mlp_layer.hc_pre.hc_scale", "blk.1.hc_ffn_scale.weight"),
        ("hc_head.hc_head_base", "output_hc_base.weight"),
        ("hc_pre.hc_head.hc_head_base", "output_hc_base.weight"),
        ("layers.1.self_attn.linear_gate.weight", "blk.1.attn_gate.weight"),
        ("layers.1.self_attn.learnable_sink_param", "blk.1.attn_sinks.weight"),
        ("layers.0.mlp.gate_proj.weight", "blk.0.ffn_gate.weight"),
        ("layers.0.mlp.linear_gate.weight", "blk.0.ffn_gate.weight"),
        ("layers.1.mlp.shared_experts.linear_gate.weight", "blk.1.ffn_gate_shexp.weight"),
        ("layers.1.mlp.experts.down_proj", "blk.1.ffn_down_exps.weight"),
    ],
)
def test_names_of_hunyuan_4_are_the_hubs_or_transformers(own: str, there: str) -> None:
    """Which writes other names than it has read."""
    assert GgufLayout(of("HYV4")).name(f"model.{own}") == there


def test_a_model_whose_every_layer_has_a_window_rotates_by_that_base() -> None:
    own = of("Mellum", layer_types=[WINDOW] * 4, rope_parameters={WINDOW: PLAIN})
    written = keys_of(GgufLayout(own))
    assert written["mellum.rope.freq_base"] == 5e3
    assert written["mellum.attention.sliding_window_pattern"] == [True] * 4
