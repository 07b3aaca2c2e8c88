"""Other settings of small random models, by architecture."""

from __future__ import annotations

from typing import Any

from newer_configs import NEWER_VARIANTS

ATTENDS = {"layer_types": ["attention"] * 3, "position_embedding_type": "rope"}
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "Qwen3_5ForCausalLM": {"-shared": {"linear_num_value_heads": 6}},
    "Qwen3_5MoeForCausalLM": {"-shared": {"linear_num_value_heads": 4}},
    "GraniteMoeHybridForCausalLM": {
        "-dense": {"num_local_experts": 0},
        "-rotating": {"position_embedding_type": "rope"},
        "-attending": ATTENDS,
        "-plain": {**ATTENDS, "num_local_experts": 0},
    },
    "FalconH1ForCausalLM": {
        "-tied": {"tie_word_embeddings": True},
        "-normed": {
            "mamba_rms_norm": True,
            "mamba_norm_before_gate": False,
            "mamba_n_groups": 2,
            "mamba_n_heads": 6,
            "mamba_d_head": 16,
        },
    },
    "Gemma4ForCausalLM": {
        "-mixed": {
            "enable_moe_block": True,
            "num_experts": 4,
            "top_k_experts": 2,
            "moe_intermediate_size": 32,
        },
        "-shared": {
            "layer_types": ["sliding_attention", "full_attention"] * 2 + ["full_attention"],
            "num_kv_shared_layers": 3,
            "hidden_size_per_layer_input": 0,
            "use_double_wide_mlp": True,
            "attention_k_eq_v": False,
        },
    },
    "Gemma3nForCausalLM": {
        "-short": {
            "num_hidden_layers": 6,
            "num_kv_shared_layers": 0,
            "activation_sparsity_pattern": [0.95] * 6,
            "tie_word_embeddings": True,
        },
    },
    "JambaForCausalLM": {"-dense": {"num_experts": 1}},
    "Llama4ForCausalLM": {
        "-unnormed": {
            "num_local_experts": 128,
            "num_experts_per_tok": 1,
            "interleave_moe_layer_step": 1,
            "use_qk_norm": False,
        },
    },
    "KimiLinearForCausalLM": {
        "-groups": {"num_experts": 8, "num_expert_group": 4, "topk_group": 2},
    },
    "YoutuForCausalLM": {"-tied": {"tie_word_embeddings": True, "q_lora_rank": None}},
    "BambaForCausalLM": {"-biased": {"attention_bias": True, "mlp_bias": True}},
    "NemotronHForCausalLM": {
        "-mixed": {
            "layers_block_type": ["mamba", "moe", "attention", "moe"],
            "num_hidden_layers": 4,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 64,
            "moe_shared_expert_intermediate_size": 96,
            "routed_scaling_factor": 2.5,
        },
    },
    **NEWER_VARIANTS,
}
"""Settings by which llama.cpp has another architecture for one."""
