"""How configurations are laid out in a GGUF file, and what llama.cpp would compute otherwise."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from architecture_configs import DELTA, LATENT, MAMBA, YARN
from gguf import GGUFWriter
from runtime_fixtures import folder, random_llama

from pare_backends.failures import CallFailure
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout


def config(**changes: Any) -> dict[str, Any]:
    return {**json.loads((random_llama(0) / "config.json").read_text()), **changes}


def gemma(version: int, **changes: Any) -> dict[str, Any]:
    return {
        "architectures": [f"Gemma{version}ForCausalLM"], "hidden_act": "gelu_pytorch_tanh",
        "attn_logit_softcapping": 50.0 if version == 2 else None, "final_logit_softcapping": 30.0,
        "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 8, **changes,
    }  # fmt: skip


def mixture(family: str, **changes: Any) -> dict[str, Any]:
    return {"architectures": [f"{family}MoeForCausalLM"], "num_experts": 4, **changes}


def latent(version: int, **changes: Any) -> dict[str, Any]:
    return {**LATENT, "architectures": [f"DeepseekV{version}ForCausalLM"], "n_shared_experts": 1,
            **changes}  # fmt: skip


def delta(**changes: Any) -> dict[str, Any]:
    return {**DELTA, "num_hidden_layers": 2, "architectures": ["Qwen3_5ForCausalLM"], **changes}


def nemotron(pattern: str, **changes: Any) -> dict[str, Any]:
    return {
        "architectures": ["NemotronHForCausalLM"], "mlp_hidden_act": "relu2",
        "hybrid_override_pattern": pattern, "num_hidden_layers": len(pattern), **changes,
    }  # fmt: skip


def mamba(family: str, **changes: Any) -> dict[str, Any]:
    return {
        "architectures": [f"{family}ForCausalLM"], "intermediate_size": 128, "num_heads": 4,
        **changes,
    }  # fmt: skip


def gemma4(**changes: Any) -> dict[str, Any]:
    return {
        "architectures": ["Gemma4ForCausalLM"], "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size_per_layer_input": 0, "sliding_window": 8, "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2, **changes,
    }  # fmt: skip


def test_layout_refuses_what_llama_cpp_computes_otherwise() -> None:
    for changes, why in (
        ({"architectures": ["OPTForCausalLM"]}, "OPTForCausalLM"),
        ({"hidden_act": "gelu"}, "gelu"),
        (
            {
                "architectures": ["GraniteForCausalLM"],
                "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4},
            },
            "yarn, not one of default, linear",
        ),
        (
            {"architectures": ["Qwen2ForCausalLM"], "rope_parameters": {"rope_type": "llama3"}},
            "llama3",
        ),
        (gemma(2, query_pre_attn_scalar=32), "query_pre_attn_scalar is 32, llama.cpp takes 16"),
        (gemma(2, attn_logit_softcapping=None), "no attn_logit_softcapping"),
        (gemma(2, layer_types=["full_attention"] * 2), "not every 2th of its layers"),
        (gemma(3, use_bidirectional_attention=True), "use_bidirectional_attention"),
        (gemma(3, sliding_window=None), "no sliding_window"),
        ({"architectures": ["Olmo2ForCausalLM"]}, "its head is its embedding"),
        (
            {"architectures": ["SmolLM3ForCausalLM"], "no_rope_layers": [1, 0]},
            "no_rope_layers leave out others",
        ),
        (mixture("Qwen3"), "norm_topk_prob is false, llama.cpp makes"),
        (mixture("Qwen2", norm_topk_prob=True), "norm_topk_prob is true, llama.cpp does not make"),
        (mixture("Qwen2", mlp_only_layers=[1]), "some of its layers are no mixture"),
        ({"architectures": ["OlmoeForCausalLM"]}, "4 heads share 2 keys"),
        (
            {"architectures": ["GPT2LMHeadModel"], "activation_function": "relu"},
            "its activation_function is relu, llama.cpp takes gelu_pytorch_tanh",
        ),
        (
            {
                "architectures": ["GPT2LMHeadModel"],
                "activation_function": "gelu_new",
                "scale_attn_by_inverse_layer_idx": True,
            },
            "scale_attn_by_inverse_layer_idx is true, llama.cpp takes false",
        ),
        ({"architectures": ["StableLmForCausalLM"], "qk_layernorm": True}, "qk_layernorm is true"),
        (
            {
                "architectures": ["BloomForCausalLM"],
                "hidden_act": "gelu_new",
                "apply_residual_connection_post_layernorm": True,
            },
            "its residuals are of what a norm gives",
        ),
        (
            {"architectures": ["Exaone4ForCausalLM"], "sliding_window": 16},
            "its layers without a window do not rotate",
        ),
        (
            {"architectures": ["FalconForCausalLM"], "alibi": True},
            "its alibi is true, llama.cpp takes false",
        ),
        (mixture("Glm4", n_group=2), "its n_group is 2, llama.cpp takes 1"),
        (latent(2, topk_method="group_limited_greedy", n_group=2), "llama.cpp takes greedy"),
        (latent(3, rope_interleave=False), "its rope_interleave is false, llama.cpp takes true"),
        (latent(3, num_hidden_layers=27, q_lora_rank=8), "has 27 layers and a q_lora_rank"),
        (
            latent(3, rope_parameters={**YARN, "mscale": 1.0, "mscale_all_dim": 0.7}),
            "its mscale is 1.0 and its mscale_all_dim 0.7",
        ),
        (delta(linear_value_head_dim=64), "linear_key_head_dim is 32 and its linear_value_head"),
        (
            delta(layer_types=["full_attention", "linear_attention"]),
            "not every 1th of its layers, and no other, attends to all tokens",
        ),
        (
            {**MAMBA, "architectures": ["GraniteMoeHybridForCausalLM"], "mamba_n_groups": 2},
            "its mamba_n_groups is 2, llama.cpp takes 1",
        ),
        (
            {"architectures": ["GraniteMoeHybridForCausalLM"], "layer_types": ["attention"] * 2},
            "its position_embedding_type is not rope",
        ),
        (nemotron("ME*-"), "some of its layers are an MLP and some a mixture"),
        (nemotron("M*-", time_step_limit=[0.1, 9]), "its time_step_limit is 0.1 to 9"),
        (nemotron("M*-", use_bias=True), "its use_bias is true, llama.cpp takes false"),
        (
            {
                "architectures": ["MptForCausalLM"],
                "hidden_act": "gelu",
                "attn_config": {"alibi_bias_max": 4},
            },
            "its alibi_bias_max is 4, llama.cpp takes 8",
        ),
        (
            {"architectures": ["FalconH1ForCausalLM"], "mamba_rms_norm": True},
            "its mamba_norm_before_gate is true",
        ),
        (
            {"architectures": ["FalconH1ForCausalLM"], "projectors_bias": True},
            "its projectors_bias is true, llama.cpp takes false",
        ),
        (
            {"architectures": ["BambaForCausalLM"], "mamba_conv_bias": False},
            "its mamba_conv_bias is false, llama.cpp takes true",
        ),
        (
            {"architectures": ["JambaForCausalLM"], "mamba_expand": 4},
            "its mamba_expand is 4, llama.cpp takes 2",
        ),
        ({"architectures": ["JambaForCausalLM"], "head_dim": 32}, "its heads have 128 features"),
        (mamba("Mamba", use_bias=True), "its use_bias is true, llama.cpp takes false"),
        (mamba("FalconMamba", intermediate_size=96), "its intermediate_size is 96, llama.cpp"),
        (mamba("Mamba2", n_groups=8), "its n_groups is 8, and llama.cpp norms what each gives by"),
        (mamba("Mamba2", n_groups=1, time_step_limit=[0, 9]), "its time_step_limit is 0 to 9"),
        (
            {**LATENT, "architectures": ["MiniCPM3ForCausalLM"], "scale_depth": 1.0},
            "its scale_depth is 1.0, llama.cpp takes 1.4",
        ),
        (
            {**LATENT, "architectures": ["MiniCPM3ForCausalLM"], "q_lora_rank": None},
            "it has no q_lora_rank",
        ),
        (gemma4(), "its rope_type is default, not one of proportional"),
        (
            gemma4(hidden_size_per_layer_input=256, vocab_size_per_layer_input=64),
            "its embeddings by layer have 64 rows, llama.cpp takes 320",
        ),
        (gemma4(use_bidirectional_attention="all"), "use_bidirectional_attention is all"),
        (gemma4(num_kv_shared_layers=1), "its last 1 layers take the keys of others than the two"),
        (
            gemma4(rope_parameters={"sliding_attention": {"rope_type": "linear"}}),
            'its rope_type is "linear", llama.cpp takes "default" of layers with a window',
        ),
        (
            {"architectures": ["DbrxForCausalLM"], "attn_config": {"rope_theta": 5e5}},
            "its attn_config's rope_theta is 500000.0, and transformers rotates by that of its",
        ),
        (
            {
                "architectures": ["DbrxForCausalLM"],
                "ffn_config": {"moe_normalize_expert_weights": None},
            },
            "its moe_normalize_expert_weights is not 1",
        ),
        (mixture("Lfm2", routed_scaling_factor=2.5), "its routed_scaling_factor is 2.5"),
        (mixture("Ernie4_5_", moe_layer_end_index=0), "its layers behind 0 are no mixture"),
        (
            {"architectures": ["HunYuanMoEV1ForCausalLM"], "moe_topk": [1, 2]},
            "its num_experts_per_tok differs by layer",
        ),
    ):
        with pytest.raises(CallFailure, match=why):
            GgufLayout(config(**changes))
    with pytest.raises(CallFailure, match="no tensor model"):
        GgufLayout(config()).name("model.layers.0.extra.weight")


def test_a_file_reads_as_many_tokens_as_a_window_that_llama_cpp_has_not_leaves_whole() -> None:
    for name in ("Mistral", "Ministral", "Phi3", "Qwen2"):
        layout = GgufLayout(config(architectures=[f"{name}ForCausalLM"], sliding_window=16))
        [note] = [one for one in layout.notes if "the model to the last 16" in one]
        assert layout.reads == 16 and note.startswith("the file reads 16 tokens")
    longest = config()["max_position_embeddings"]
    for whole in (
        {"architectures": ["MistralForCausalLM"], "sliding_window": 4096},
        {"architectures": ["Qwen2ForCausalLM"], "sliding_window": 9, "use_sliding_window": False},
        {"sliding_window": 9, "layer_types": ["full_attention"] * 2},
        gemma(2),
    ):
        layout = GgufLayout(config(**whole))
        assert layout.reads == longest and not any("window" in one for one in layout.notes)


def test_layers_behind_the_last_are_left_out() -> None:
    """Those that guess a further token, under the names that GLM and ERNIE give them."""
    layout = GgufLayout(config(**mixture("Glm4", num_experts_per_tok=2, n_routed_experts=4)))
    assert layout.layers == 2 and layout.experts_used() == 0.5
    for name, left_out in (
        ("model.layers.1.mlp.gate.weight", False),
        ("model.layers.2.enorm.weight", True),
        ("model.mtp_block.0.mlp.up_proj.weight", True),
        ("mtp.layers.0.mlp.up_proj.weight", True),
    ):
        assert layout.is_left_out(name) is left_out


def test_a_gelu_by_the_error_function_is_written_with_a_note() -> None:
    pythia = {"architectures": ["GPTNeoXForCausalLM"], "hidden_act": "gelu", "rotary_pct": 0.25}
    assert "error function" in str(GgufLayout(config(**pythia)).notes)
    assert GgufLayout(config(**{**pythia, "hidden_act": "gelu_new"})).notes == []


def keys_of(layout: GgufLayout) -> dict[str, Any]:
    """The keys of a file, by their names."""
    writer = GGUFWriter(folder() / "keys.gguf", layout.architecture)
    layout.write_keys(writer)
    return {name: value.value for name, value in writer.kv_data[0].items()}


def test_configs_as_the_hub_has_them_are_read() -> None:
    """BLOOM's and GPT-2's own names of the usual keys, Pythia's of its positions, Gemma's gelu."""
    bloom = {
        "architectures": ["BloomForCausalLM"], "n_embed": 64, "n_layer": 3, "vocab_size": 320,
        "num_attention_heads": 4, "seq_length": 256,
    }  # fmt: skip
    layout = GgufLayout(bloom)
    assert (layout.config["hidden_size"], layout.layers, layout.heads) == (64, 3, 4)
    gpt2 = {
        "architectures": ["GPT2LMHeadModel"], "n_embd": 64, "n_layer": 3, "n_head": 4,
        "n_positions": 256, "n_inner": None, "vocab_size": 320, "activation_function": "gelu_new",
    }  # fmt: skip
    layout = GgufLayout(gpt2)
    assert (layout.widths.key, layout.layers, layout.notes) == (16, 3, [])
    names = ("h.2.attn.c_attn.weight", "transformer.h.2.attn.c_attn.weight")
    assert {layout.name(name) for name in names} == {"blk.2.attn_qkv.weight"}
    lfm2 = {
        "architectures": ["Lfm2ForCausalLM"], "hidden_size": 1024, "num_hidden_layers": 4,
        "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 320,
        "full_attn_idxs": [2], "block_ff_dim": 6656, "block_multiple_of": 256,
        "conv_L_cache": 3,
    }  # fmt: skip
    written = keys_of(GgufLayout(lfm2))
    assert written["lfm2.attention.head_count_kv"] == [0, 0, 8, 0]
    assert written["lfm2.feed_forward_length"] == 4608
    phi4 = {
        "architectures": ["Phi3ForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 320, "max_position_embeddings": 131072,
        "original_max_position_embeddings": 4096, "partial_rotary_factor": 0.75,
        "sliding_window": 262144,
        "rope_scaling": {"type": "longrope", "short_factor": [1] * 6, "long_factor": [2] * 6},
    }  # fmt: skip
    written = keys_of(GgufLayout(phi4))
    assert written["phi3.rope.dimension_count"] == 12
    assert abs(written["phi3.rope.scaling.attn_factor"] - 1.19024) < 1e-5
    with pytest.raises(CallFailure, match="its short_factor has 5 factors, not 6"):
        short = {"type": "longrope", "short_factor": [1] * 5, "long_factor": [2] * 6}
        GgufLayout({**phi4, "rope_scaling": short})
    old = config(architectures=["GPTNeoXForCausalLM"], hidden_act="gelu", rotary_emb_base=5000)
    del old["rope_parameters"]
    assert GgufLayout(old).rope.theta == 5000
    gemma1 = {"architectures": ["GemmaForCausalLM"], "hidden_act": "gelu"}
    assert "error function" in str(GgufLayout(config(**gemma1)).notes)
    tanh = {**gemma1, "hidden_activation": "gelu_pytorch_tanh"}
    assert GgufLayout(config(**tanh)).notes == []
    with pytest.raises(CallFailure, match=r"config\.json says no hidden_size and no vocab_size"):
        GgufLayout(
            {
                "architectures": ["LlamaForCausalLM"],
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
            }
        )


def test_layers_are_told_apart_by_letters_or_by_names() -> None:
    """As Nemotron-H's own files and transformers' have them; the latter say no count of layers."""
    for said in (
        {"hybrid_override_pattern": "M-*M"},
        {"layers_block_type": ["linear_attention", "mlp", "full_attention", "mamba"]},
    ):
        own = config(**nemotron("M-*M", intermediate_size=96, mamba_num_heads=4, ssm_state_size=16))
        own = {**own, "mamba_head_dim": 32, "n_groups": 2, "num_key_value_heads": 2}
        del own["hybrid_override_pattern"], own["num_hidden_layers"]
        written = keys_of(GgufLayout({**own, **said}))
        assert written["nemotron_h.attention.head_count_kv"] == [0, 0, 2, 0]
        assert written["nemotron_h.feed_forward_length"] == [0, 96, 0, 0]
        assert written["nemotron_h.block_count"] == 4


def test_heads_of_layers_that_see_all_tokens_are_read_as_the_hub_or_transformers_has_them() -> None:
    """Gemma 4's, with as many keys as others have but where keys are values too."""
    wide = {"head_dim": 32, "num_key_value_heads": 1}
    rope = {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25}}
    own = config(**gemma4(rope_parameters=rope, head_dim=16))
    for said, keys in (
        ({"per_layer_config": {"1": wide, "3": wide}}, [2, 1, 2, 1]),
        ({"global_head_dim": 32, "num_global_key_value_heads": 1}, [2, 2, 2, 2]),
        (
            {"global_head_dim": 32, "num_global_key_value_heads": 1, "attention_k_eq_v": True},
            [2, 1, 2, 1],
        ),
    ):
        layout = GgufLayout({**own, **said})
        written = keys_of(layout)
        assert written["gemma4.attention.head_count_kv"] == keys
        assert written["gemma4.attention.key_length"] == 32
        assert written["gemma4.attention.key_length_swa"] == 16
        assert layout.rope is not None
        assert (
            layout.rope.tensors()["rope_freqs.weight"].tolist() == [1] * 4 + [np.float32(1e30)] * 12
        )


def test_rope_factors_are_those_of_transformers() -> None:
    import torch
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope = {
        "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
    }  # fmt: skip
    given = config(rope_parameters=rope, head_dim=16)
    inverse, _ = ROPE_INIT_FUNCTIONS["llama3"](LlamaConfig(**given), torch.device("cpu"))
    factors = GgufLayout(given).rope.tensors()["rope_freqs.weight"]
    assert factors.min() == 1 and factors.max() == 8
    plain = 500_000.0 ** -(np.arange(0, 16, 2) / 16)
    np.testing.assert_allclose(plain / factors, inverse.numpy(), rtol=1e-5)
    assert GgufLayout(config()).rope.tensors() == {}


def test_a_model_without_attention_says_no_heads_and_what_its_state_is() -> None:
    """As mamba-130m, FalconMamba-7B and mamba2-130m say it, whose configs name no heads."""
    own = {"hidden_size": 768, "num_hidden_layers": 2, "vocab_size": 320, "expand": 2,
           "layer_norm_epsilon": 1e-5, "intermediate_size": 1536, "conv_kernel": 4}  # fmt: skip
    usual = {**own, "time_step_rank": 48, "state_size": 16}
    written = keys_of(GgufLayout({"architectures": ["MambaForCausalLM"], **usual}))
    said = {"conv_kernel": 4, "inner_size": 1536, "state_size": 16, "time_step_rank": 48}
    assert {key: written[f"mamba.ssm.{key}"] for key in said} == said
    assert written["mamba.attention.head_count"] == 0 and written["mamba.context_length"] == 2**20
    falcon = GgufLayout({"architectures": ["FalconMambaForCausalLM"], **usual, "state_size": 8})
    assert keys_of(falcon)["mamba.ssm.dt_b_c_rms"] is True
    assert falcon.factor("backbone.layers.0.mixer.x_proj.weight") == pytest.approx(10**0.5)
    assert falcon.factor("backbone.layers.0.mixer.in_proj.weight") == 1.0
    heads = {"num_heads": 24, "head_dim": 64, "n_groups": 1, "state_size": 128}
    written = keys_of(GgufLayout({"architectures": ["Mamba2ForCausalLM"], **own, **heads}))
    said = {"inner_size": 1536, "state_size": 128, "time_step_rank": 24, "group_count": 1}
    assert {key: written[f"mamba2.ssm.{key}"] for key in said} == said
