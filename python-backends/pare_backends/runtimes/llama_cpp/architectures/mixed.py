"""Architectures whose tokens are sent to some of many experts."""

from __future__ import annotations

from dataclasses import replace

from gguf import MODEL_ARCH

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import (
    ALL_ROPES,
    STRETCHED,
    Architecture,
)
from pare_backends.runtimes.llama_cpp.architectures.parts import Parts

GRANITE_MOE = Architecture(
    MODEL_ARCH.GRANITE_MOE,
    True,
    own_keys={"shared_expert_intermediate_size": "shared_intermediate_size"},
    stacks=("moe.input_linear.weight", "moe.output_linear.weight"),
    parts={
        "block_sparse_moe.input_linear.weight": Parts(
            ("mlp.experts.gate_proj.weight", "mlp.experts.up_proj.weight")
        ),
        "shared_mlp.input_linear.weight": Parts(
            ("mlp.shared_mlp.gate_proj.weight", "mlp.shared_mlp.up_proj.weight")
        ),
    },
    write_keys=mixtures.granite_moe_keys,
)
MIXED = {
    "MixtralForCausalLM": Architecture(
        MODEL_ARCH.LLAMA, True, ALL_ROPES, write_keys=mixtures.mixture_keys
    ),
    "Qwen2MoeForCausalLM": Architecture(
        MODEL_ARCH.QWEN2MOE,
        ropes=STRETCHED,
        write_keys=mixtures.mixture_keys,
        why_not=mixtures.mixture_why_not(False),
    ),
    "Qwen3MoeForCausalLM": Architecture(
        MODEL_ARCH.QWEN3MOE,
        ropes=STRETCHED,
        write_keys=mixtures.mixture_keys,
        why_not=mixtures.mixture_why_not(True),
    ),
    "OlmoeForCausalLM": Architecture(
        MODEL_ARCH.OLMOE,
        write_keys=mixtures.mixture_keys,
        why_not=own.first_of(mixtures.a_key_for_each_head, mixtures.mixture_why_not(False)),
    ),
    "Glm4MoeForCausalLM": Architecture(
        MODEL_ARCH.GLM4_MOE,
        ropes=("default",),
        rotated=0.5,
        own_keys={"num_experts": "n_routed_experts"},
        write_keys=mixtures.sigmoid_keys,
        why_not=own.takes(n_group=1),
    ),
    # GLM's, without norms of heads and dense layers, whose heads are rotated whole.
    "SolarOpenForCausalLM": Architecture(
        MODEL_ARCH.GLM4_MOE,
        ropes=STRETCHED,
        own_keys={"num_experts": "n_routed_experts", "intermediate_size": "moe_intermediate_size"},
        write_keys=mixtures.solar_open_keys,
        why_not=own.first_of(own.takes(n_group=1), mixtures.solar_open_why_not),
    ),
    "Ernie4_5_MoeForCausalLM": Architecture(
        MODEL_ARCH.ERNIE4_5_MOE,
        ropes=("default",),
        own_keys={
            "num_experts": "moe_num_experts",
            "num_experts_per_tok": "moe_k",
            "n_shared_experts": "moe_num_shared_experts",
            "first_k_dense_replace": "moe_layer_start_index",
        },
        write_keys=mixtures.ernie_moe_keys,
        why_not=mixtures.ernie_moe_why_not,
    ),
    "Lfm2MoeForCausalLM": Architecture(
        MODEL_ARCH.LFM2MOE,
        ropes=("default",),
        norm_key="norm_eps",
        own_keys={"first_k_dense_replace": "num_dense_layers"},
        write_keys=mixtures.lfm2_moe_keys,
        why_not=own.takes(
            conv_bias=False,
            use_expert_bias=True,
            norm_topk_prob=True,
            routed_scaling_factor=1.0,
            tie_word_embeddings=True,
        ),
    ),
    "HunYuanMoEV1ForCausalLM": Architecture(
        MODEL_ARCH.HUNYUAN_MOE,
        ropes=("default", "dynamic"),
        own_keys={"num_experts_per_tok": "moe_topk"},
        write_keys=mixtures.hunyuan_moe_keys,
        why_not=own.first_of(
            own.takes(attention_bias=False), mixtures.alike("num_experts_per_tok")
        ),
    ),
    "Dots1ForCausalLM": Architecture(
        MODEL_ARCH.DOTS1,
        ropes=("default",),
        own_keys={"num_experts": "n_routed_experts"},
        write_keys=mixtures.sigmoid_keys,
        why_not=own.first_of(own.olmo2_why_not, mixtures.a_key_for_each_head, own.takes(n_group=1)),
    ),
    "ExaoneMoeForCausalLM": Architecture(
        MODEL_ARCH.EXAONE_MOE,
        ropes=("default",),
        own_keys={"n_shared_experts": "num_shared_experts"},
        window_period=4,
        write_keys=mixtures.exaone_moe_keys,
        why_not=own.first_of(own.olmo2_why_not, mixtures.dense_first, own.takes(n_group=1)),
    ),
    "AfmoeForCausalLM": Architecture(
        MODEL_ARCH.AFMOE,
        ropes=STRETCHED,
        own_keys={
            "first_k_dense_replace": "num_dense_layers",
            "n_shared_experts": "num_shared_experts",
            "routed_scaling_factor": "route_scale",
        },
        window_period=4,
        write_keys=mixtures.afmoe_keys,
        why_not=mixtures.afmoe_why_not,
    ),
    "MiniMaxM2ForCausalLM": Architecture(
        MODEL_ARCH.MINIMAXM2,
        ropes=("default",),
        write_keys=mixtures.sigmoid_keys,
        why_not=own.olmo2_why_not,
    ),
    "GraniteMoeForCausalLM": replace(GRANITE_MOE, own_keys={}),
    "GraniteMoeSharedForCausalLM": GRANITE_MOE,
    "GptOssForCausalLM": Architecture(
        MODEL_ARCH.GPT_OSS,
        ropes=("default", "yarn"),
        turned=("mlp.experts.gate_up_proj", "mlp.experts.down_proj"),
        stacks=("_proj", "_proj_bias"),
        parts={
            "experts.gate_up_proj": Parts(
                ("experts.gate_proj.weight", "experts.up_proj.weight"), by_turns=True
            ),
            "experts.gate_up_proj_bias": Parts(
                ("experts.gate_proj.bias", "experts.up_proj.bias"), by_turns=True
            ),
        },
        window_period=2,
        write_keys=mixtures.gpt_oss_keys,
        why_not=own.first_of(own.olmo2_why_not, own.takes(attention_bias=True, swiglu_limit=7.0)),
    ),
}
