"""What mixtures of experts tell llama.cpp besides, and what of them it takes for granted.

An architecture's own names of the settings stand in the table (`known.py`), under the usual ones
here.
"""

from __future__ import annotations

import json

from gguf import ExpertGatingFuncType, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures.own_keys import (
    Config,
    Reason,
    granite_keys,
    lfm2_keys,
    takes,
    window_keys,
)


def of_all(config: Config, key: str) -> int:
    """A count that some say once for each layer; the largest where they differ."""
    value = config[key]
    return max(int(one) for one in value) if isinstance(value, list) else int(value)


def experts(config: Config) -> int:
    return int(config.get("num_local_experts") or config.get("num_experts") or 0)


def mixture_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_expert_count(experts(config))
    writer.add_expert_used_count(of_all(config, "num_experts_per_tok"))
    if config.get("moe_intermediate_size"):
        writer.add_expert_feed_forward_length(of_all(config, "moe_intermediate_size"))
    if config.get("shared_expert_intermediate_size"):
        shared = int(config["shared_expert_intermediate_size"])
        writer.add_expert_shared_feed_forward_length(shared)
    if config.get("first_k_dense_replace"):
        writer.add_leading_dense_block_count(int(config["first_k_dense_replace"]))


def sigmoid_keys(writer: GGUFWriter, config: Config) -> None:
    """Of routers that weigh each expert by itself."""
    width = int(config["intermediate_size"])
    mixture_keys(writer, {"moe_intermediate_size": width, **config})
    writer.add_expert_gating_func(ExpertGatingFuncType.SIGMOID)
    writer.add_expert_weights_norm(bool(config.get("norm_topk_prob", True)))
    writer.add_expert_weights_scale(float(config.get("routed_scaling_factor") or 1.0))
    if config.get("n_shared_experts") is not None:
        writer.add_expert_shared_count(int(config["n_shared_experts"]))


def solar_open_keys(writer: GGUFWriter, config: Config) -> None:
    """transformers makes a mixture of every layer, whatever the config says."""
    sigmoid_keys(writer, {**config, "first_k_dense_replace": 0})


def lfm2_moe_keys(writer: GGUFWriter, config: Config) -> None:
    sigmoid_keys(writer, config)
    lfm2_keys(writer, config)


def ernie_moe_keys(writer: GGUFWriter, config: Config) -> None:
    shared = int(config.get("n_shared_experts") or 0) * int(config["moe_intermediate_size"])
    mixture_keys(writer, {**config, "shared_expert_intermediate_size": shared})
    writer.add_interleave_moe_layer_step(1)


def hunyuan_moe_keys(writer: GGUFWriter, config: Config) -> None:
    width = int(config["intermediate_size"])
    own = {"moe_intermediate_size": width, "shared_expert_intermediate_size": width}
    mixture_keys(writer, {**config, **own})


def exaone_moe_keys(writer: GGUFWriter, config: Config) -> None:
    shared = int(config["n_shared_experts"]) * int(config["moe_intermediate_size"])
    sigmoid_keys(writer, {**config, "shared_expert_intermediate_size": shared})
    window_keys(writer, config)


def afmoe_keys(writer: GGUFWriter, config: Config) -> None:
    """transformers makes the weights of a token's experts sum to one, whatever the config says."""
    sigmoid_keys(writer, {**config, "norm_topk_prob": True})
    writer.add_sliding_window(int(config["sliding_window"]))


def granite_moe_keys(writer: GGUFWriter, config: Config) -> None:
    mixture_keys(writer, config)
    granite_keys(writer, config)


def gpt_oss_keys(writer: GGUFWriter, config: Config) -> None:
    mixture_keys(writer, {**config, "moe_intermediate_size": config["intermediate_size"]})
    writer.add_sliding_window(int(config["sliding_window"]))


def mixture_why_not(normalized: bool) -> Reason:
    """What of a mixture llama.cpp takes for granted: whether the weights of a token's experts are
    made to sum to one, and that every layer is a mixture."""

    def why_not(config: Config) -> str | None:
        asked = bool(config.get("norm_topk_prob", False))
        if asked != normalized:
            words = "makes" if normalized else "does not make"
            return (
                f"its norm_topk_prob is {json.dumps(asked)}, llama.cpp {words} the weights of"
                " experts sum to one"
            )
        if int(config.get("decoder_sparse_step") or 1) != 1 or config.get("mlp_only_layers"):
            return "some of its layers are no mixture, llama.cpp takes that all are"
        if config.get("clip_qkv") is not None:
            return f"its clip_qkv is {config['clip_qkv']}, llama.cpp clips nothing"
        return None

    return why_not


def solar_open_why_not(config: Config) -> str | None:
    if not config.get("n_shared_experts"):
        return "it has no n_shared_experts, llama.cpp takes some"
    return None


def afmoe_why_not(config: Config) -> str | None:
    if not config.get("mup_enabled"):
        return "its mup_enabled is not true, llama.cpp multiplies embeddings as if it were"
    if not config.get("n_shared_experts"):
        return "it has no num_shared_experts, llama.cpp takes some"
    return takes(attention_bias=False)(config)


def a_key_for_each_head(config: Config) -> str | None:
    heads, kv_heads = config["num_attention_heads"], config.get("num_key_value_heads")
    if kv_heads not in (None, heads):
        return f"its {heads} heads share {kv_heads} keys, llama.cpp wants a key for each"
    return None


def alike(*keys: str) -> Reason:
    """That all layers have the same of what some say for each."""

    def why_not(config: Config) -> str | None:
        for key in keys:
            value = config.get(key)
            if isinstance(value, list) and len(set(value)) > 1:
                return f"its {key} differs by layer, llama.cpp has one for all"
        return None

    return why_not


def dense_first(config: Config) -> str | None:
    """That no layer behind the first mixture is dense, where a config says each one's kind."""
    kinds = config.get("mlp_layer_types")
    dense = int(config.get("first_k_dense_replace") or 0)
    if kinds and list(kinds) != ["dense"] * dense + ["sparse"] * (len(kinds) - dense):
        return "its mlp_layer_types are not dense at first and then sparse, as llama.cpp takes"
    return None


def ernie_moe_why_not(config: Config) -> str | None:
    layers = int(config["num_hidden_layers"])
    last = config.get("moe_layer_end_index")
    if last not in (None, -1) and int(last) < layers - 1:
        return f"its layers behind {last} are no mixture, llama.cpp takes that they are"
    return takes(moe_layer_interval=1, use_bias=False)(config)
