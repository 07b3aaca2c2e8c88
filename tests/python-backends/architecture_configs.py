"""Settings of small random models, by architecture."""

from __future__ import annotations

from typing import Any

from newer_configs import NEWER

HALF_ROTATED = {"rope_type": "default", "rope_theta": 5e3, "partial_rotary_factor": 0.5}
YARN = {
    "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip
LATENT: dict[str, Any] = {
    "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
    "v_head_dim": 32, "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 64, "first_k_dense_replace": 1, "pad_token_id": 0, "n_group": 1,
    "topk_group": 1, "head_dim": 8,
}  # fmt: skip
DELTA: dict[str, Any] = {
    "num_hidden_layers": 3, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 32,
    "linear_value_head_dim": 32, "linear_num_key_heads": 2, "linear_num_value_heads": 2,
    "pad_token_id": 0, "layer_types": ["linear_attention", "linear_attention", "full_attention"],
}  # fmt: skip
SHARED: dict[str, Any] = {
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 96,
}  # fmt: skip
KIMI: dict[str, Any] = {
    "num_hidden_layers": 4, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
    "v_head_dim": 32, "num_key_value_heads": 4, "linear_head_dim": 32, "linear_num_heads": 4,
    "num_experts": 4, "num_experts_per_token": 2, "moe_intermediate_size": 64,
    "num_shared_experts": 2, "routed_scaling_factor": 0.7, "pad_token_id": 0,
    "rms_norm_eps": 1e-6, "layer_types": ["linear_attention", "full_attention"] * 2,
}  # fmt: skip
MAMBA: dict[str, Any] = {
    "num_hidden_layers": 3, "layer_types": ["mamba", "attention", "mamba"], "mamba_n_heads": 4,
    "mamba_d_head": 32, "mamba_d_state": 16, "mamba_n_groups": 1, "mamba_d_conv": 4,
}  # fmt: skip
OTHERWISE: dict[str, dict[str, Any]] = {
    # Wider than their share of a token: 128, which transformers' GGUF reader takes.
    "Qwen3ForCausalLM": {"head_dim": 128},
    "GraniteForCausalLM": {
        "attention_multiplier": 0.3, "embedding_multiplier": 2.5, "residual_multiplier": 0.7,
        "logits_scaling": 1.5, "attention_bias": True,
    },
    "Gemma2ForCausalLM": {
        "num_hidden_layers": 3, "sliding_window": 8, "query_pre_attn_scalar": 16,
        # transformers leaves the first out where attention is sdpa: 20 is hardly reached here.
        "attn_logit_softcapping": 20.0, "final_logit_softcapping": 4.0,
        "tie_word_embeddings": True,
    },
    "Gemma3ForCausalLM": {
        "num_hidden_layers": 7, "sliding_window": 8, "query_pre_attn_scalar": 16,
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e4},
            "sliding_attention": {"rope_type": "default", "rope_theta": 2e3},
        },
    },
    "SmolLM3ForCausalLM": {"num_hidden_layers": 5, "pad_token_id": 0},
    "Phi3ForCausalLM": {
        "pad_token_id": 0, "sliding_window": 256, "original_max_position_embeddings": 32,
        "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 1e4, "partial_rotary_factor": 0.5,
            "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 5.0, 8.0],
            "original_max_position_embeddings": 32,
        },
    },
    "GemmaForCausalLM": {"hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": True},
    "GPT2LMHeadModel": {
        "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256, "tie_word_embeddings": True,
        "num_key_value_heads": 4,
    },
    "GPTNeoXForCausalLM": {
        "use_parallel_residual": False, "hidden_act": "gelu_new", "num_key_value_heads": 4,
        "rope_parameters": HALF_ROTATED,
    },
    "Starcoder2ForCausalLM": {"use_bias": True},
    "StableLmForCausalLM": {
        "use_qkv_bias": True, "use_parallel_residual": False,
        "rope_parameters": HALF_ROTATED,
    },
    "PhiForCausalLM": {"rope_parameters": HALF_ROTATED},
    "CohereForCausalLM": {"tie_word_embeddings": True, "logit_scale": 0.25},
    "BloomForCausalLM": {
        "n_layer": 2, "n_head": 4, "num_key_value_heads": 4, "tie_word_embeddings": True,
        "intermediate_size": 256,
    },
    "NemotronForCausalLM": {"rope_parameters": HALF_ROTATED},
    "SeedOssForCausalLM": {
        "attention_bias": True,
        "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
            "original_max_position_embeddings": 64, "beta_fast": 16.0,
        },
    },
    "OlmoForCausalLM": {"pad_token_id": 0, "clip_qkv": 2.0},
    "MixtralForCausalLM": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "Qwen2MoeForCausalLM": {
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "shared_expert_intermediate_size": 96,
    },
    "Qwen3MoeForCausalLM": {
        "num_experts": 4, "num_experts_per_tok": 3, "moe_intermediate_size": 64,
        "norm_topk_prob": True,
    },
    "OlmoeForCausalLM": {
        "num_experts": 4, "num_experts_per_tok": 2, "pad_token_id": 0, "num_key_value_heads": 4,
    },
    "Olmo3ForCausalLM": {
        "num_hidden_layers": 5, "sliding_window": 8, "pad_token_id": 0,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 2e3},
            "full_attention": {
                "rope_type": "yarn", "factor": 8.0, "rope_theta": 2e3,
                "original_max_position_embeddings": 32, "attention_factor": 1.3,
            },
        },
    },
    "Cohere2ForCausalLM": {
        "num_hidden_layers": 5, "sliding_window": 8, "logit_scale": 0.25, "pad_token_id": 0,
        "tie_word_embeddings": True,
    },
    "GlmForCausalLM": {"attention_bias": True, "pad_token_id": 0},
    "Glm4ForCausalLM": {"attention_bias": True, "pad_token_id": 0, "head_dim": 32},
    "Exaone4ForCausalLM": {
        "layer_types": ["full_attention"] * 2,
        "rope_parameters": {
            "rope_type": "llama3", "rope_theta": 1e4, "factor": 16.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
        },
    },
    "HunYuanDenseV1ForCausalLM": {
        "pad_token_id": 0,
        "rope_parameters": {
            "rope_type": "dynamic", "rope_theta": 1e4, "alpha": 1000.0, "factor": 1.0,
        },
    },
    "GPTBigCodeForCausalLM": {
        "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256, "tie_word_embeddings": True,
        "num_key_value_heads": 1,
    },
    "Lfm2ForCausalLM": {
        "layer_types": ["conv", "full_attention", "conv"], "num_hidden_layers": 3,
        "block_multiple_of": 32, "pad_token_id": 0, "tie_word_embeddings": True,
    },
    "Glm4MoeForCausalLM": {
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "n_shared_experts": 2, "routed_scaling_factor": 1.7, "use_qk_norm": True,
        "attention_bias": True, "pad_token_id": 0, "first_k_dense_replace": 1,
    },
    "SolarOpenForCausalLM": {
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "n_shared_experts": 2, "routed_scaling_factor": 1.7, "attention_bias": True,
        "pad_token_id": 0, "rope_parameters": YARN,
    },
    "Ernie4_5_MoeForCausalLM": {
        "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 64,
        "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "pad_token_id": 0,
    },
    "Lfm2MoeForCausalLM": {
        "layer_types": ["conv", "full_attention", "conv"], "num_hidden_layers": 3,
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "num_dense_layers": 1, "pad_token_id": 0, "tie_word_embeddings": True,
    },
    "HunYuanMoEV1ForCausalLM": {"num_experts": 4, "moe_topk": [2, 2], "pad_token_id": 0},
    "Dots1ForCausalLM": {
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "n_shared_experts": 1, "routed_scaling_factor": 2.5, "norm_topk_prob": False,
        "first_k_dense_replace": 1, "num_key_value_heads": 4, "pad_token_id": 0, "n_group": 1,
        "topk_group": 1,
    },
    "AfmoeForCausalLM": {
        "num_hidden_layers": 5, "sliding_window": 8, "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 64, "num_shared_experts": 2, "num_dense_layers": 1,
        "route_scale": 2.8, "mup_enabled": True, "pad_token_id": 0, "rope_parameters": YARN,
    },
    "MiMoV2FlashForCausalLM": {
        "num_hidden_layers": 4, "sliding_window": 8, "num_key_value_heads": 1, "head_dim": 32,
        "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 64, "attention_value_scale": 0.4, "bos_token_id": 1,
        "layer_types": ["full_attention", "sliding_attention"] * 2,
        "mlp_layer_types": ["dense", "sparse", "sparse", "dense"],
        "rope_parameters": {
            "full_attention": {
                "rope_type": "default", "rope_theta": 5e4, "partial_rotary_factor": 0.5,
            },
            "sliding_attention": {
                "rope_type": "default", "rope_theta": 2e3, "partial_rotary_factor": 0.5,
            },
        },
    },
    "GlmMoeDsaForCausalLM": {
        **LATENT, "num_hidden_layers": 4, "n_routed_experts": 8, "n_group": 4, "topk_group": 2,
        "n_shared_experts": 1, "routed_scaling_factor": 1.8, "index_topk": 24,
        "index_head_dim": 64, "index_n_heads": 32,
        "indexer_types": ["full", "shared", "full", "shared"],
        "rope_parameters": {"rope_type": "default", "rope_theta": 5e3},
    },
    "MiniMaxM2ForCausalLM": {
        "num_local_experts": 4, "num_experts_per_tok": 2, "pad_token_id": 0,
        "rope_parameters": HALF_ROTATED,
    },
    "GraniteMoeForCausalLM": {
        "num_local_experts": 4, "num_experts_per_tok": 2, "attention_multiplier": 0.3,
        "embedding_multiplier": 2.5, "residual_multiplier": 0.7, "logits_scaling": 1.5,
    },
    "GraniteMoeSharedForCausalLM": {
        "num_local_experts": 4, "attention_multiplier": 0.3, "shared_intermediate_size": 128,
    },
    "GptOssForCausalLM": {
        "num_hidden_layers": 3, "sliding_window": 8, "num_local_experts": 4,
        "num_experts_per_tok": 2, "pad_token_id": 0,
        "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 15e4, "factor": 32.0, "beta_fast": 32.0,
            "beta_slow": 1.0, "truncate": True, "original_max_position_embeddings": 64,
        },
    },
    "FalconForCausalLM": {
        "new_decoder_architecture": True, "num_kv_heads": 2, "ffn_hidden_size": 96,
        "activation": "gelu_new",
    },
    "Jais2ForCausalLM": {"pad_token_id": 0},
    "ApertusForCausalLM": {
        "rope_parameters": {
            "rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
        },
    },
    "DeepseekV2ForCausalLM": {
        **LATENT, "q_lora_rank": None, "n_shared_experts": 2, "routed_scaling_factor": 1.7,
        "rope_parameters": {**YARN, "mscale": 0.707, "mscale_all_dim": 0.707},
    },
    "DeepseekV3ForCausalLM": {
        **LATENT, "num_hidden_layers": 3, "n_routed_experts": 8, "n_group": 4, "topk_group": 2,
        "n_shared_experts": 1, "rope_parameters": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0},
    },
    "YoutuForCausalLM": {
        "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
        "v_head_dim": 32, "num_key_value_heads": 4, "head_dim": 8, "bos_token_id": 1,
        "eos_token_id": 2, "rope_parameters": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0},
    },
    "Qwen3NextForCausalLM": {
        **DELTA, **SHARED, "linear_num_value_heads": 4,
        "rope_parameters": HALF_ROTATED,
    },
    "Qwen3_5ForCausalLM": {
        **DELTA, "num_hidden_layers": 6, "layer_types": DELTA["layer_types"] * 2,
        "rope_parameters": HALF_ROTATED,
    },
    "Qwen3_5MoeForCausalLM": {
        **DELTA, **SHARED, "rope_parameters": HALF_ROTATED,
    },
    "GraniteMoeHybridForCausalLM": {
        **MAMBA, "num_local_experts": 4, "num_experts_per_tok": 2, "attention_multiplier": 0.3,
        "embedding_multiplier": 2.5, "residual_multiplier": 0.7, "logits_scaling": 1.5,
        "shared_intermediate_size": 128,
    },
    "FalconH1ForCausalLM": {
        "mamba_d_ssm": 96, "mamba_n_heads": 3, "mamba_d_head": 32, "mamba_d_state": 16,
        "mamba_n_groups": 1, "embedding_multiplier": 5.5, "lm_head_multiplier": 0.3,
        "key_multiplier": 0.4, "attention_in_multiplier": 1.5, "attention_out_multiplier": 0.9,
        "ssm_in_multiplier": 1.25, "ssm_out_multiplier": 0.6, "mlp_multipliers": [0.9, 0.6],
        "ssm_multipliers": [0.7, 0.5, 0.8, 1.2, 0.9],
    },
    "BambaForCausalLM": {
        **{key: value for key, value in MAMBA.items() if key != "layer_types"},
        "attn_layer_indices": [1],
    },
    "JambaForCausalLM": {
        "num_hidden_layers": 4, "attn_layer_period": 3, "attn_layer_offset": 1, "num_experts": 4,
        "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts_per_tok": 2,
        "mamba_dt_rank": 32, "mamba_d_state": 16,
    },
    "Gemma4ForCausalLM": {
        "num_hidden_layers": 5, "sliding_window": 8, "hidden_size_per_layer_input": 32,
        "vocab_size_per_layer_input": 320,
        "layer_types": ["sliding_attention", "full_attention"] * 2 + ["full_attention"],
        "global_head_dim": 32, "num_global_key_value_heads": 1, "attention_k_eq_v": True,
        "final_logit_softcapping": 4.0, "tie_word_embeddings": True,
        "rope_parameters": {
            "full_attention": {
                "rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 5e4,
            },
            "sliding_attention": {"rope_type": "default", "rope_theta": 2e3},
        },
    },
    "DbrxForCausalLM": {
        "d_model": 64, "n_layers": 2, "n_heads": 4, "max_seq_len": 256,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 2.0, "rope_theta": 5e3},
        "ffn_config": {"ffn_hidden_size": 96, "moe_num_experts": 4, "moe_top_k": 2},
        "rope_parameters": {"rope_type": "default", "rope_theta": 5e3},
    },
    "MptForCausalLM": {
        "d_model": 64, "n_layers": 2, "n_heads": 4, "max_seq_len": 256, "tie_word_embeddings": True,
        "num_key_value_heads": 4, "attn_config": {"clip_qkv": 0.5},
    },
    "NemotronHForCausalLM": {
        "layers_block_type": ["mamba", "mlp", "attention", "mamba", "mlp"], "num_hidden_layers": 5,
        "mamba_num_heads": 4, "mamba_head_dim": 32, "ssm_state_size": 16, "n_groups": 2,
        "pad_token_id": 0,
        "n_routed_experts": 4, "moe_intermediate_size": 64,
        "moe_shared_expert_intermediate_size": 96,
    },
    "ExaoneMoeForCausalLM": {
        "num_hidden_layers": 5, "sliding_window": 8, "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 64, "num_shared_experts": 2, "pad_token_id": 0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 5e3},
    },
    "MiniCPM3ForCausalLM": {
        "num_hidden_layers": 3, "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 8, "num_key_value_heads": 4, "original_max_position_embeddings": 32,
        "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 1e4, "factor": 8.0,
            "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 5.0, 8.0],
            "original_max_position_embeddings": 32,
        },
    },
    "KimiLinearForCausalLM": KIMI,
    "Glm4MoeLiteForCausalLM": {**LATENT, "n_shared_experts": 1, "routed_scaling_factor": 1.8},
    "MambaForCausalLM": {
        "intermediate_size": 128, "state_size": 16, "tie_word_embeddings": True,
    },
    "FalconMambaForCausalLM": {
        "intermediate_size": 128, "state_size": 16, "layer_norm_epsilon": 1e-3,
    },
    "Mamba2ForCausalLM": {
        "intermediate_size": 128, "state_size": 16, "num_heads": 4, "head_dim": 32,
        "n_groups": 1, "chunk_size": 16,
    },
    "MinistralForCausalLM": {
        # A window of as many tokens as the longest text that is compared.
        "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 48,
        "rope_parameters": {"rope_type": "linear", "rope_theta": 2e3, "factor": 2.0},
        "head_dim": 32,
    },
    "Gemma3nForCausalLM": {
        # As wide as it has to be for a deviation that llama.cpp divides by one less, and with all
        # that it has built in: sparse layers, layers that share keys, ranks.
        "num_hidden_layers": 25, "num_kv_shared_layers": 5, "intermediate_size": 1024,
        "sliding_window": 8, "vocab_size_per_layer_input": 320,
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 5e4},
            "sliding_attention": {"rope_type": "default", "rope_theta": 2e3},
        },
    },
    "Llama4ForCausalLM": {
        "num_hidden_layers": 5, "intermediate_size": 64, "intermediate_size_mlp": 96,
        "num_local_experts": 4, "num_experts_per_tok": 2, "interleave_moe_layer_step": 2,
        "head_dim": 32, "rope_parameters": {
            # As Scout has it, which blends no frequencies.
            "rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 1.0, "original_max_position_embeddings": 64,
        },
    },
    "Ministral3ForCausalLM": {
        "head_dim": 32, "rope_parameters": {
            # Its temperature grows with each of 16 tokens: texts of 48 are compared.
            **YARN, "original_max_position_embeddings": 16, "mscale": 1.0, "mscale_all_dim": 1.0,
            "llama_4_scaling_beta": 0.7, "max_position_embeddings": 256,
        },
    },
    **NEWER,
}  # fmt: skip
"""What these have that no other architecture has, and no default leaves idle."""
