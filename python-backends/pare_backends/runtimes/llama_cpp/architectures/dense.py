"""Architectures whose every token takes all weights."""

from __future__ import annotations

from dataclasses import replace

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import (
    ALL_ROPES,
    STRETCHED,
    TANH_GELU,
    Architecture,
)

GPT2 = Architecture(
    MODEL_ARCH.GPT2,
    ropes=(),
    activations=TANH_GELU,
    activation_key="activation_function",
    norm_key="layer_norm_epsilon",
    centred=True,
    own_keys={
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "intermediate_size": "n_inner",
        "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions",
    },
    turned=(".c_attn.weight", ".c_proj.weight", ".c_fc.weight"),
    why_not=own.gpt2_why_not,
)
LLAMA = Architecture(MODEL_ARCH.LLAMA, True, ALL_ROPES)
DENSE = {
    "LlamaForCausalLM": LLAMA,
    "MistralForCausalLM": LLAMA,
    "MinistralForCausalLM": LLAMA,
    "Qwen2ForCausalLM": Architecture(MODEL_ARCH.QWEN2, ropes=STRETCHED),
    "Qwen3ForCausalLM": Architecture(MODEL_ARCH.QWEN3, ropes=STRETCHED),
    "GraniteForCausalLM": Architecture(MODEL_ARCH.GRANITE, True, write_keys=own.granite_keys),
    "Gemma2ForCausalLM": Architecture(
        MODEL_ARCH.GEMMA2,
        ropes=("default",),
        activations=TANH_GELU,
        norm_shift=1.0,
        window_period=2,
        write_keys=own.gemma2_keys,
        why_not=own.gemma2_why_not,
    ),
    "Gemma3ForCausalLM": Architecture(
        MODEL_ARCH.GEMMA3,
        activations=TANH_GELU,
        norm_shift=1.0,
        window_period=6,
        write_keys=own.gemma3_keys,
        why_not=own.gemma3_why_not,
    ),
    "Olmo2ForCausalLM": Architecture(MODEL_ARCH.OLMO2, why_not=own.olmo2_why_not),
    "SmolLM3ForCausalLM": Architecture(
        MODEL_ARCH.SMOLLM3, True, STRETCHED, why_not=own.smollm3_why_not
    ),
    "Phi3ForCausalLM": Architecture(
        MODEL_ARCH.PHI3, ropes=("default", "longrope"), write_keys=own.phi3_keys
    ),
    "GemmaForCausalLM": Architecture(
        MODEL_ARCH.GEMMA, activations=(*TANH_GELU, "gelu"), norm_shift=1.0
    ),
    "GPT2LMHeadModel": GPT2,
    "GPTNeoXForCausalLM": Architecture(
        MODEL_ARCH.GPTNEOX,
        rotated=0.25,
        ropes=("default", "linear"),
        activations=("gelu", *TANH_GELU),
        norm_key="layer_norm_eps",
        centred=True,
        own_keys={"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"},
        fused="query_key_value",
        write_keys=own.neox_keys,
    ),
    "Starcoder2ForCausalLM": Architecture(
        MODEL_ARCH.STARCODER2,
        activations=TANH_GELU,
        norm_key="norm_epsilon",
        centred=True,
    ),
    "StableLmForCausalLM": Architecture(
        MODEL_ARCH.STABLELM,
        rotated=0.25,
        norm_key="layer_norm_eps",
        centred=True,
        write_keys=own.parallel_keys,
        why_not=own.no_head_norms,
    ),
    "PhiForCausalLM": Architecture(
        MODEL_ARCH.PHI2,
        rotated=0.5,
        activations=TANH_GELU,
        norm_key="layer_norm_eps",
        centred=True,
        why_not=own.no_head_norms,
    ),
    "CohereForCausalLM": Architecture(
        MODEL_ARCH.COMMAND_R,
        norm_key="layer_norm_eps",
        centred=True,
        write_keys=own.cohere_keys,
        why_not=own.no_head_norms,
    ),
    "OlmoForCausalLM": Architecture(
        MODEL_ARCH.OLMO, True, norm_key="layer_norm_eps", centred=True, write_keys=own.olmo_keys
    ),
    "BloomForCausalLM": Architecture(
        MODEL_ARCH.BLOOM,
        ropes=(),
        activations=TANH_GELU,
        norm_key="layer_norm_epsilon",
        centred=True,
        own_keys={
            "hidden_size": "n_embed",
            "num_hidden_layers": "n_layer",
            "num_attention_heads": "n_head",
        },
        fused="query_key_value",
        why_not=own.bloom_why_not,
    ),
    "MptForCausalLM": Architecture(
        MODEL_ARCH.MPT,
        ropes=(),
        activations=("gelu", *TANH_GELU),
        norm_key="layer_norm_epsilon",
        centred=True,
        own_keys={
            "hidden_size": "d_model",
            "num_hidden_layers": "n_layers",
            "num_attention_heads": "n_heads",
            "max_position_embeddings": "max_seq_len",
        },
        width=own.mpt_width,
        write_keys=own.mpt_keys,
        why_not=own.mpt_why_not,
    ),
    "NemotronForCausalLM": Architecture(
        MODEL_ARCH.NEMOTRON,
        rotated=0.5,
        activations=("relu2",),
        norm_key="norm_eps",
        centred=True,
        norm_shift=1.0,
    ),
    "ArceeForCausalLM": Architecture(MODEL_ARCH.ARCEE, True, ALL_ROPES, activations=("relu2",)),
    # Of plain linear layers: the library rounds them to three values where a config asks for it.
    "BitNetForCausalLM": Architecture(
        MODEL_ARCH.BITNET,
        ropes=STRETCHED,
        settings=own.bitnet_settings,
        renamed={"attn_sub_norm": "inner_attn_ln", "ffn_sub_norm": "ffn_layernorm"},
        why_not=own.bitnet_why_not,
    ),
    "SeedOssForCausalLM": Architecture(MODEL_ARCH.SEED_OSS, ropes=STRETCHED),
    "Ernie4_5ForCausalLM": Architecture(MODEL_ARCH.ERNIE4_5, ropes=STRETCHED),
    "Olmo3ForCausalLM": Architecture(
        MODEL_ARCH.OLMO2,
        ropes=("default", "yarn"),
        window_period=4,
        write_keys=own.window_keys,
        why_not=own.olmo2_why_not,
    ),
    "Cohere2ForCausalLM": Architecture(
        MODEL_ARCH.COHERE2,
        ropes=("default",),
        norm_key="layer_norm_eps",
        centred=True,
        window_period=4,
        write_keys=own.cohere2_keys,
        why_not=own.cohere2_why_not,
    ),
    "GlmForCausalLM": Architecture(
        MODEL_ARCH.CHATGLM, ropes=("default",), rotated=0.5, why_not=own.glm_why_not
    ),
    "Glm4ForCausalLM": Architecture(MODEL_ARCH.GLM4, ropes=("default",), rotated=0.5),
    "Exaone4ForCausalLM": Architecture(
        MODEL_ARCH.EXAONE4, ropes=("default", "llama3"), why_not=own.exaone4_why_not
    ),
    "HunYuanDenseV1ForCausalLM": Architecture(
        MODEL_ARCH.HUNYUAN_DENSE, ropes=("default", "dynamic")
    ),
    "GPTBigCodeForCausalLM": replace(
        GPT2,
        kind=MODEL_ARCH.STARCODER,
        turned=(),
        kv_heads=own.bigcode_kv_heads,
        why_not=own.bigcode_why_not,
    ),
    "Lfm2ForCausalLM": Architecture(
        MODEL_ARCH.LFM2,
        ropes=("default",),
        norm_key="norm_eps",
        own_keys={"intermediate_size": "block_ff_dim"},
        width=own.lfm2_width,
        write_keys=own.lfm2_keys,
        why_not=own.lfm2_why_not,
    ),
    "FalconForCausalLM": Architecture(
        MODEL_ARCH.FALCON,
        ropes=("default",),
        activations=("gelu", *TANH_GELU),
        activation_key="activation",
        norm_key="layer_norm_epsilon",
        centred=True,
        own_keys={
            "num_hidden_layers": "n_layer",
            "num_attention_heads": "n_head",
            "intermediate_size": "ffn_hidden_size",
        },
        fused="query_key_value",
        kv_heads=own.falcon_kv_heads,
        why_not=own.takes(alibi=False, bias=False, parallel_attn=True),
    ),
    "Jais2ForCausalLM": Architecture(
        MODEL_ARCH.JAIS2,
        ropes=("default",),
        activations=("relu2",),
        norm_key="layer_norm_eps",
        centred=True,
        why_not=own.takes(attention_bias=True, mlp_bias=True),
    ),
    "ApertusForCausalLM": Architecture(
        MODEL_ARCH.APERTUS,
        ropes=("default", "llama3"),
        activations=("xielu",),
        by_layer={
            ".act_fn.alpha_n": GGUFWriter.add_xielu_alpha_n,
            ".act_fn.alpha_p": GGUFWriter.add_xielu_alpha_p,
            ".act_fn.beta": GGUFWriter.add_xielu_beta,
            ".act_fn.eps": GGUFWriter.add_xielu_eps,
        },
        why_not=own.olmo2_why_not,
    ),
}
