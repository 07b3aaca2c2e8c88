"""Settings of small random models of architectures that gguf-py does not name."""

from __future__ import annotations

from typing import Any

FULL, WINDOW = "full_attention", "sliding_attention"
STRETCHED: dict[str, Any] = {
    "rope_type": "yarn", "rope_theta": 5e3, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip
GRANITE: dict[str, Any] = {
    "num_hidden_layers": 5, "sliding_window": 8, "attention_multiplier": 0.3,
    "embedding_multiplier": 2.5, "residual_multiplier": 0.7, "logits_scaling": 1.5,
    # Layers 0 and 4 see all tokens: one that does and one with a window rotate nothing.
    "layer_rope_theta": [0, 5e3, 5e3, 0, 5e3],
}  # fmt: skip
NEWER: dict[str, dict[str, Any]] = {
    "GraniteSWAForCausalLM": {**GRANITE, "attention_bias": True, "mlp_bias": True},
    "GraniteMoeSWAForCausalLM": {
        **GRANITE, "num_local_experts": 4, "shared_intermediate_size": 128,
    },
    "MellumForCausalLM": {
        "num_hidden_layers": 4, "sliding_window": 8, "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 64, "layer_types": [WINDOW, WINDOW, FULL, WINDOW],
        "rope_parameters": {
            FULL: STRETCHED, WINDOW: {"rope_type": "default", "rope_theta": 5e3},
        },
    },
    "Cohere2MoeForCausalLM": {
        "num_hidden_layers": 6, "sliding_window": 8, "num_experts": 4, "num_experts_per_tok": 2,
        "num_shared_experts": 2, "mlp_layer_types": ["dense"] + ["sparse"] * 5,
        "layer_types": [FULL, WINDOW, WINDOW, FULL, WINDOW, FULL], "logit_scale": 0.25,
        "prefix_dense_intermediate_size": 128, "intermediate_size": 64,
        "rope_parameters": STRETCHED,
    },
    "HYV3ForCausalLM": {
        "num_hidden_layers": 3, "num_experts": 4, "num_experts_per_tok": 2, "num_shared_experts": 2,
        "moe_intermediate_size": 64, "rope_parameters": STRETCHED,
    },
    "LagunaForCausalLM": {
        "num_hidden_layers": 4, "sliding_window": 8, "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 64, "shared_expert_intermediate_size": 32,
        "moe_routed_scaling_factor": 2.5, "layer_types": [FULL, WINDOW, WINDOW, FULL],
        "num_attention_heads_per_layer": [4, 6, 2, 4],
        "rope_parameters": {
            FULL: {**STRETCHED, "partial_rotary_factor": 0.5},
            WINDOW: {"rope_type": "default", "rope_theta": 2e3, "partial_rotary_factor": 1.0},
        },
    },
    "DeepseekV32ForCausalLM": {
        "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
        "v_head_dim": 32, "num_key_value_heads": 4, "n_routed_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 64, "first_k_dense_replace": 1, "n_group": 4, "topk_group": 2,
        "n_shared_experts": 1, "routed_scaling_factor": 1.8, "head_dim": 8, "bos_token_id": 1,
        "index_topk": 24, "index_head_dim": 64, "index_n_heads": 32, "num_hidden_layers": 3,
        "rope_parameters": {**STRETCHED, "mscale": 1.0, "mscale_all_dim": 1.0},
    },
    "HYV4ForCausalLM": {
        "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
        "v_head_dim": 32, "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 64, "n_shared_experts": 2, "head_dim": 8, "index_topk": 24,
        "index_head_dim": 32, "index_n_heads": 32, "num_hidden_layers": 4, "pad_token_id": 0,
        "indexer_types": ["full", "shared", "full", "shared"], "swiglu_limit": 0.3, "hc_mult": 3,
        "hc_magnitude": 1.5, "rope_parameters": {"rope_type": "default", "rope_theta": 5e3},
    },
    "BitNetForCausalLM": {
        "hidden_act": "silu", "tie_word_embeddings": True, "rope_parameters": STRETCHED,
    },
}  # fmt: skip
"""What these have that no other architecture has, and no default leaves idle."""
NEWER_VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "GraniteSWAForCausalLM": {
        "-stretched": {
            "layer_types": None, "layer_rope_theta": None, "tie_word_embeddings": True,
            "rope_parameters": {
                "rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
            },
        },
    },
    "GraniteMoeSWAForCausalLM": {"-unshared": {"shared_intermediate_size": 0}},
    "MellumForCausalLM": {
        "-whole": {
            "layer_types": [FULL] * 4,
            "rope_parameters": {
                FULL: {"rope_type": "linear", "rope_theta": 2e3, "factor": 2.0},
            },
        },
    },
    "Cohere2MoeForCausalLM": {
        "-single": {
            "expert_selection_fn": "sigmoid", "norm_topk_prob": False, "rms_norm_eps": 1e-5,
            "num_shared_experts": 0, "mlp_layer_types": ["sparse"] * 6,
            "tie_word_embeddings": True,
        },
    },
    "HYV3ForCausalLM": {
        "-dense": {"mlp_layer_types": ["sparse", "dense", "sparse"], "tie_word_embeddings": True},
    },
    "LagunaForCausalLM": {
        "-whole": {
            "num_hidden_layers": 2, "layer_types": [FULL] * 2, "gating": "per-element",
            "num_attention_heads_per_layer": None, "mlp_layer_types": ["sparse"] * 2,
            "rope_parameters": {
                FULL: {"rope_type": "default", "rope_theta": 2e3, "partial_rotary_factor": 1.0},
            },
        },
    },
}  # fmt: skip
"""Settings by which llama.cpp has another graph of one."""
