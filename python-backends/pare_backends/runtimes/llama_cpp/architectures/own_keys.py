"""What single architectures tell llama.cpp besides, and what of them it computes otherwise.

`…_keys` writes what its file says; `…_why_not` gives the reason why none is written, None: it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gguf import GGUFWriter

Config = Mapping[str, Any]
Reason = Callable[[Config], str | None]


def takes(**taken: Any) -> Reason:
    """What llama.cpp takes for granted of settings that a config may say otherwise."""

    def why_not(config: Config) -> str | None:
        for key, value in taken.items():
            said = config.get(key)
            if said is not None and said != value:
                return f"its {key} is {json.dumps(said)}, llama.cpp takes {json.dumps(value)}"
        return None

    return why_not


def first_of(*reasons: Reason) -> Reason:
    def why_not(config: Config) -> str | None:
        return next((why for reason in reasons if (why := reason(config)) is not None), None)

    return why_not


def granite_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_attention_scale(float(config["attention_multiplier"]))
    writer.add_embedding_scale(float(config["embedding_multiplier"]))
    writer.add_residual_scale(float(config["residual_multiplier"]))
    writer.add_logit_scale(float(config["logits_scaling"]))


def gemma2_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_sliding_window(int(config["sliding_window"]))
    writer.add_attn_logit_softcapping(float(config["attn_logit_softcapping"]))
    writer.add_final_logit_softcapping(float(config["final_logit_softcapping"]))


def gemma3_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_sliding_window(int(config["sliding_window"]))
    local = (config.get("rope_parameters") or {}).get("sliding_attention") or {}
    base = local.get("rope_theta") or config.get("rope_local_base_freq") or 10_000.0
    writer.add_rope_freq_base_swa(float(base))
    if config.get("final_logit_softcapping"):
        writer.add_final_logit_softcapping(float(config["final_logit_softcapping"]))


def gemma_scale(layers_27b: int) -> Callable[[Config], str | None]:
    """What of Gemma's attention llama.cpp takes for granted, by the count of layers."""

    def why_not(config: Config) -> str | None:
        head = int(config["head_dim"])
        wide = int(config["num_hidden_layers"]) == layers_27b
        scale = int(config["hidden_size"]) // int(config["num_attention_heads"]) if wide else head
        asked = config.get("query_pre_attn_scalar", head)
        if asked != scale:
            return f"its query_pre_attn_scalar is {asked}, llama.cpp takes {scale}"
        if config.get("use_bidirectional_attention"):
            return "its use_bidirectional_attention is true, llama.cpp's is causal"
        return None

    return why_not


def gemma2_why_not(config: Config) -> str | None:
    for cap in ("attn_logit_softcapping", "final_logit_softcapping"):
        if not config.get(cap):
            return f"it has no {cap}, llama.cpp caps them always"
    if not config.get("tie_word_embeddings", True):
        return "its head is not its embedding, llama.cpp takes that"
    return gemma_scale(46)(config)


def gemma3_why_not(config: Config) -> str | None:
    if config.get("attn_logit_softcapping"):
        return "it has an attn_logit_softcapping, llama.cpp has none"
    return gemma_scale(62)(config)


def olmo2_why_not(config: Config) -> str | None:
    tied = config.get("tie_word_embeddings", False)
    return "its head is its embedding, llama.cpp wants one of its own" if tied else None


def phi3_keys(writer: GGUFWriter, config: Config) -> None:
    # Without it llama.cpp takes a window that the first of these models had.
    writer.add_sliding_window(int(config["max_position_embeddings"]))


NO_ROPE_PERIOD = 4
"""llama.cpp rotates all but every fourth layer of SmolLM3."""


def smollm3_why_not(config: Config) -> str | None:
    count = int(config["num_hidden_layers"])
    period = int(config.get("no_rope_layer_interval") or NO_ROPE_PERIOD)
    rotated = config.get("no_rope_layers") or [int((i + 1) % period != 0) for i in range(count)]
    if list(rotated[:count]) == [int((i + 1) % NO_ROPE_PERIOD != 0) for i in range(count)]:
        return None
    return f"its no_rope_layers leave out others than every {NO_ROPE_PERIOD}th, as llama.cpp does"


def parallel_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_parallel_residual(bool(config.get("use_parallel_residual", False)))


def neox_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_parallel_residual(bool(config.get("use_parallel_residual", True)))


gpt2_why_not = takes(
    scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False
)


def bloom_why_not(config: Config) -> str | None:
    if config.get("apply_residual_connection_post_layernorm"):
        return "its residuals are of what a norm gives, llama.cpp's of what it takes"
    return None


ALIBI = 8
"""transformers' largest bias of a position, whatever the config says."""


def mpt_width(config: Config) -> int:
    return int(config.get("expansion_ratio") or 4) * int(config["hidden_size"])


def mpt_keys(writer: GGUFWriter, config: Config) -> None:
    attention = config.get("attn_config") or {}
    writer.add_max_alibi_bias(ALIBI)
    if attention.get("clip_qkv") is not None:
        writer.add_clamp_kqv(float(attention["clip_qkv"]))


def mpt_why_not(config: Config) -> str | None:
    taken = takes(alibi=True, qk_ln=False, softmax_scale=0.0, alibi_bias_max=ALIBI)
    attention = taken(config.get("attn_config") or {})
    if not config.get("tie_word_embeddings", True):
        return "its head is not its embedding, llama.cpp takes that"
    return attention or takes(no_bias=True, logit_scale=0.0)(config)


BITNET_BASE = 500_000.0
"""Of positions, where a config of BitNet does not say."""


def bitnet_settings(config: Config) -> Config:
    return {"hidden_act": "relu2", "rope_theta": BITNET_BASE, **config}


def bitnet_why_not(config: Config) -> str | None:
    if not config.get("tie_word_embeddings", False):
        return "its head is not its embedding, llama.cpp takes that"
    if (config.get("quantization_config") or {}).get("quant_method") == "bitnet":
        return "its quantization_config makes other weights of its own as it is loaded"
    return takes(attention_bias=False)(config) or glm_why_not(config)


def no_head_norms(config: Config) -> str | None:
    for key in ("qk_layernorm", "use_qk_norm"):
        if config.get(key):
            return f"its {key} is true, llama.cpp normalizes no heads of it"
    return None


def cohere_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_logit_scale(float(config["logit_scale"]))


def olmo_keys(writer: GGUFWriter, config: Config) -> None:
    if config.get("clip_qkv") is not None:
        writer.add_clamp_kqv(float(config["clip_qkv"]))


def window_keys(writer: GGUFWriter, config: Config) -> None:
    """Of what has windows in all but every so-manieth layer."""
    if config.get("sliding_window") is not None:
        writer.add_sliding_window(int(config["sliding_window"]))
        kinds = config.get("layer_types")
        if kinds:
            writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in kinds])


def cohere2_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_logit_scale(float(config["logit_scale"]))
    window_keys(writer, config)


def cohere2_why_not(config: Config) -> str | None:
    if not config.get("tie_word_embeddings", True):
        return "its head is not its embedding, llama.cpp takes that"
    if config.get("attention_bias"):
        return "its attention_bias is true, llama.cpp adds none"
    return None


def glm_why_not(config: Config) -> str | None:
    """Of its first generation, whose heads together are as wide as a token in llama.cpp."""
    head = int(config.get("head_dim") or 0) * int(config["num_attention_heads"])
    if head and head != int(config["hidden_size"]):
        return f"its heads have {head} features together, llama.cpp takes its hidden_size"
    return None


EXAONE_WINDOWS = 64
"""The count of layers of the EXAONE 4.0 whose every fourth alone sees all tokens."""


def exaone4_why_not(config: Config) -> str | None:
    if int(config["num_hidden_layers"]) == EXAONE_WINDOWS:
        return f"it has {EXAONE_WINDOWS} layers, of which llama.cpp takes windows for granted"
    if config.get("sliding_window") is not None:
        return "its layers without a window do not rotate, llama.cpp rotates all"
    return None


def bigcode_why_not(config: Config) -> str | None:
    if not config.get("multi_query", True):
        return "its multi_query is false, llama.cpp takes one head of keys"
    return gpt2_why_not(config)


def kv_heads_said(config: Config) -> int | None:
    return config.get("num_key_value_heads")


def bigcode_kv_heads(config: Config) -> int | None:
    return kv_heads_said(config) or 1


def falcon_kv_heads(config: Config) -> int | None:
    """Its first generation says a count that it does not have."""
    if config.get("new_decoder_architecture"):
        return config.get("num_kv_heads") or config.get("n_head_kv")
    return 1 if config.get("multi_query", True) else None


def usual_width(config: Config) -> int:
    return int(config.get("intermediate_size") or 4 * int(config["hidden_size"]))  # GPT-2's, unsaid


def lfm2_width(config: Config) -> int:
    """Its config says a width that its own code makes two thirds of, in whole multiples."""
    width = usual_width(config)
    if not config.get("block_auto_adjust_ff_dim", True):
        return width
    width = int(2 * width / 3)
    multiplier, multiple = config.get("block_ffn_dim_multiplier", 1.0), config["block_multiple_of"]
    return width if multiplier is None else -(-int(multiplier * width) // multiple) * int(multiple)


def lfm2_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_shortconv_l_cache(int(config["conv_L_cache"]))


LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def kinds_of_layers(config: Config) -> list[str]:
    """As `layer_types` says them, or by the places of attention, as LFM2's first configs do; empty:
    all are alike."""
    places = config.get("full_attn_idxs")
    said = config.get("layer_types") or config.get("layers_block_type")
    said = said or [LETTERS[one] for one in config.get("hybrid_override_pattern") or ""]
    if said or places is None:
        return list(said or [])
    count = int(config["num_hidden_layers"])
    return ["full_attention" if at in places else "conv" for at in range(count)]


def has_no_keys(kind: str) -> bool:
    """Whether a layer of this kind holds a state in the place of keys and values, or nothing."""
    return kind in ("conv", "mamba", "linear_attention", "mlp", "moe")


def lfm2_why_not(config: Config) -> str | None:
    return "its conv_bias is true, llama.cpp adds none" if config.get("conv_bias") else None
