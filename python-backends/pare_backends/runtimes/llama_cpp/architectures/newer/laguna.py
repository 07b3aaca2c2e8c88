"""Laguna: what attention gives is multiplied by a gate of a head or of each feature; layers with
windows have other counts of heads and rotations; a mixture behind dense layers."""

from __future__ import annotations

from typing import Any

from gguf import MODEL_ARCH, MODEL_TENSOR, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import STRETCHED, Architecture
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import NewerKind
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

FULL, WINDOW = "full_attention", "sliding_attention"
ROPE = {
    FULL: {"rope_theta": 5e5, "partial_rotary_factor": 0.5},
    WINDOW: {"rope_theta": 1e4, "partial_rotary_factor": 1.0},
}
"""Where a config is silent."""


def laguna_settings(config: Config) -> Config:
    count = int(config.get("num_hidden_layers") or 0)
    mlps = list(config.get("mlp_layer_types") or ["dense"] + ["sparse"] * (count - 1))
    heads = [config.get("num_attention_heads")] * count
    found = {
        "layer_types": config.get("layer_types") or [FULL] * count,
        "mlp_layer_types": mlps,
        "first_k_dense_replace": mlps.count("dense"),
        "num_attention_heads_per_layer": config.get("num_attention_heads_per_layer") or heads,
        "rope_parameters": config.get("rope_parameters") or ROPE,
    }
    return {"head_dim": 128, **config, **found}


def heads_of_queries(config: Config) -> list[int]:
    return [int(one) for one in config["num_attention_heads_per_layer"]]


def laguna_keys(writer: GGUFWriter, config: Config) -> None:
    """transformers makes the weights of a token's experts sum to one, whatever the config says."""
    mixtures.sigmoid_keys(writer, {**config, "norm_topk_prob": True, "first_k_dense_replace": 0})
    writer.add_leading_dense_block_count(int(config["first_k_dense_replace"]))
    if WINDOW not in config["layer_types"]:
        return
    own.window_keys(writer, config)
    local = config["rope_parameters"][WINDOW]
    turned = float(local.get("partial_rotary_factor", 1.0)) * int(config["head_dim"])
    writer.add_rope_freq_base_swa(float(local["rope_theta"]))
    writer.add_rope_dimension_count_swa(int(turned))


def laguna_why_not(config: Config) -> str | None:
    rope: dict[str, Any] = dict(config["rope_parameters"])
    for kind in sorted(set(config["layer_types"])):
        if kind not in rope:
            return f"its rope_parameters say nothing of {kind}, which some of its layers are"
    if WINDOW in config["layer_types"]:
        if config.get("sliding_window") is None:
            return "it has no sliding_window, and layers with one"
        if (other := own.takes(rope_type="default")(rope[WINDOW])) is not None:
            return f"{other} of layers with a window"
    return own.takes(attention_bias=False, moe_router_logit_softcapping=0.0)(config)


LAGUNA = {
    "LagunaForCausalLM": Architecture(
        NewerKind(
            "laguna",
            MODEL_ARCH.DOTS1,
            {
                "self_attn.g_proj": MODEL_TENSOR.ATTN_GATE,
                "mlp.experts.e_score_correction": MODEL_TENSOR.FFN_EXP_PROBS_B,
            },
        ),
        ropes=STRETCHED,
        settings=laguna_settings,
        own_keys={"routed_scaling_factor": "moe_routed_scaling_factor"},
        own_windows=True,
        layer_heads=heads_of_queries,
        write_keys=laguna_keys,
        why_not=own.first_of(laguna_why_not, mixtures.dense_first),
    ),
}
