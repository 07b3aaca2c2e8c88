"""Architectures whose keys and values come out of a vector of few features (DeepSeek's MLA).

llama.cpp computes them in two ways. Written is the one that multiplies by the checkpoint's own
matrix (`kv_b_proj`), which can be blocks as any other; its cache holds whole keys and values.
"""

from __future__ import annotations

from dataclasses import replace

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture, HeadWidths
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

LITE = (26, 27)
"""llama.cpp takes models of so many layers for ones whose queries come out of a token itself."""

PADDING_NOTE = (
    "transformers sets the embedding of token {token}, which pads, to zero as it loads the model,"
    " the file has the checkpoint's"
)


def latent_widths(config: Config) -> HeadWidths:
    rotated = int(config["qk_rope_head_dim"])
    value = config.get("v_head_dim")  # MiniCPM's, unsaid
    value = value or int(config["hidden_size"]) // int(config["num_attention_heads"])
    return HeadWidths(int(config["qk_nope_head_dim"]) + rotated, int(value), rotated)


def latent_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_q_lora_rank(int(config.get("q_lora_rank") or 0))
    writer.add_kv_lora_rank(int(config["kv_lora_rank"]))


def dense_keys(writer: GGUFWriter, config: Config) -> None:
    """Of a model without experts, which llama.cpp has as a mixture behind its last layer."""
    latent_keys(writer, config)
    writer.add_expert_feed_forward_length(int(config["intermediate_size"]))
    writer.add_expert_shared_count(0)
    writer.add_leading_dense_block_count(int(config["num_hidden_layers"]))


def softmax_keys(writer: GGUFWriter, config: Config) -> None:
    latent_keys(writer, config)
    mixtures.mixture_keys(writer, config)
    writer.add_expert_shared_count(int(config["n_shared_experts"]))
    writer.add_expert_weights_scale(float(config.get("routed_scaling_factor") or 1.0))


def sigmoid_keys(writer: GGUFWriter, config: Config) -> None:
    latent_keys(writer, config)
    mixtures.sigmoid_keys(writer, config)
    if int(config.get("n_group") or 1) > 1:
        writer.add_expert_group_count(int(config["n_group"]))
        writer.add_expert_group_used_count(int(config["topk_group"]))


def attention_why_not(config: Config) -> str | None:
    layers = int(config["num_hidden_layers"])
    if layers in LITE and config.get("q_lora_rank"):
        return f"it has {layers} layers and a q_lora_rank, which llama.cpp does not read of those"
    return own.takes(attention_bias=False, mlp_bias=False, rope_interleave=True)(config)


def latent_why_not(config: Config) -> str | None:
    if config.get("n_routed_experts") is None or not config.get("n_shared_experts"):
        return "it has no n_routed_experts or no n_shared_experts, llama.cpp takes both"
    return attention_why_not(config)


def greedy_why_not(config: Config) -> str | None:
    """Of the second DeepSeek, which goes by a group's best expert, llama.cpp by the two best."""
    if config.get("topk_method", "greedy") != "greedy" and int(config.get("n_group") or 1) > 1:
        return f"its topk_method is {config['topk_method']}, llama.cpp takes greedy"
    return None


def padding_note(config: Config) -> str | None:
    """transformers 5.17 initializes that row of Youtu's again, after it has loaded it."""
    token = config.get("pad_token_id")
    return None if token is None else PADDING_NOTE.format(token=token)


def _as_counted(config: Config) -> Config:
    """GLM says the kinds of its layers where DeepSeek counts the dense ones."""
    kinds = config.get("mlp_layer_types") or ["dense"]
    return {"first_k_dense_replace": list(kinds).count("dense"), **config}


def glm_keys(writer: GGUFWriter, config: Config) -> None:
    sigmoid_keys(writer, _as_counted(config))


DEEPSEEK = Architecture(
    MODEL_ARCH.DEEPSEEK2,
    ropes=("default", "yarn"),
    scales_queries=True,
    head_widths=latent_widths,
    own_keys={"num_experts": "n_routed_experts"},
    write_keys=sigmoid_keys,
    why_not=latent_why_not,
)

MINICPM_SCALES = {"scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256}
"""What llama.cpp multiplies embeddings, residuals and logits by: those of MiniCPM3-4B."""


def minicpm_why_not(config: Config) -> str | None:
    if not config.get("q_lora_rank"):
        return "it has no q_lora_rank, llama.cpp takes queries out of a vector"
    for key, value in MINICPM_SCALES.items():
        if config.get(key, value) != value:
            return f"its {key} is {config[key]}, llama.cpp takes {value}"
    taken = own.takes(attention_bias=False, mlp_bias=False)
    return taken(config) or mixtures.a_key_for_each_head(config)


MINICPM3 = Architecture(
    MODEL_ARCH.MINICPM3,
    ropes=("default", "linear", "longrope"),
    head_widths=latent_widths,
    write_keys=latent_keys,
    why_not=minicpm_why_not,
)

LATENT = {
    "MiniCPM3ForCausalLM": MINICPM3,
    "DeepseekV2ForCausalLM": replace(
        DEEPSEEK, write_keys=softmax_keys, why_not=own.first_of(latent_why_not, greedy_why_not)
    ),
    "DeepseekV3ForCausalLM": DEEPSEEK,
    "YoutuForCausalLM": replace(
        DEEPSEEK, own_keys={}, write_keys=dense_keys, note=padding_note, why_not=attention_why_not
    ),
    "Glm4MoeLiteForCausalLM": replace(
        DEEPSEEK,
        write_keys=glm_keys,
        why_not=own.first_of(
            latent_why_not, lambda config: mixtures.dense_first(_as_counted(config))
        ),
    ),
}
