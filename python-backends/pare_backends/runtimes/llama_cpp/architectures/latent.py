"""Architectures whose keys and values come out of a vector of few features (DeepSeek's MLA).

llama.cpp computes them in two ways. Written is the one that multiplies by the checkpoint's own
matrix (`kv_b_proj`), which can be blocks as any other; its cache holds whole keys and values.
GLM 5 it computes in the other alone, whose cache holds the vector: half of that matrix is turned.
"""

from __future__ import annotations

from dataclasses import replace

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture, HeadWidths
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config
from pare_backends.runtimes.llama_cpp.architectures.parts import LatentParts

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


def no_experts(config: Config) -> str | None:
    if config.get("n_routed_experts") is None or not config.get("n_shared_experts"):
        return "it has no n_routed_experts or no n_shared_experts, llama.cpp takes both"
    return None


def latent_why_not(config: Config) -> str | None:
    return no_experts(config) or attention_why_not(config)


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


HADAMARD = 64
"""Features of the smallest Hadamard matrix, which llama.cpp multiplies an indexer's heads by."""
DENSE_LAYERS = 3
"""Of GLM 5, where a config does not say."""
TAKES = ("shared", "S")
"""Names of layers that take what the last indexer found: the others have one."""


def sparse_settings(config: Config) -> Config:
    """Which layers of GLM 5 find the tokens that they attend to, and which take those that the
    layer before them took: by name, by letters or by how often, as transformers reads it."""
    count = int(config.get("num_hidden_layers") or 0)
    often = max(int(config.get("index_topk_freq") or 1), 1)
    offset = int(config.get("index_skip_topk_offset", 2))
    finds = [max(i - offset + 1, 0) % often == 0 for i in range(count)]
    named = config.get("indexer_types") or config.get("index_topk_pattern")
    if named:
        finds = [kind not in TAKES for kind in named]
    kinds = config.get("mlp_layer_types")
    said = config.get("first_k_dense_replace", DENSE_LAYERS)
    dense = min(int(said), count) if kinds is None else list(kinds).count("dense")
    return {**config, "finds": finds, "first_k_dense_replace": dense}


def kept_widths(config: Config) -> HeadWidths:
    """Of the one head of keys that is kept: a vector, and what of it is rotated."""
    rank, rotated = int(config["kv_lora_rank"]), int(config["qk_rope_head_dim"])
    return HeadWidths(rank + rotated, rank, rotated)


def one_head(config: Config) -> int:
    return 1


def indexer_keys(writer: GGUFWriter, config: Config) -> None:
    sigmoid_keys(writer, config)
    whole = latent_widths(config)
    writer.add_key_length_mla(whole.key)
    writer.add_value_length_mla(whole.value)
    writer.add_indexer_head_count(int(config["index_n_heads"]))
    writer.add_indexer_key_length(int(config["index_head_dim"]))
    writer.add_indexer_top_k(int(config["index_topk"]))


def sparse_keys(writer: GGUFWriter, config: Config) -> None:
    indexer_keys(writer, config)
    writer.add_array("glm-dsa.attention.indexer.types", config["finds"])


def sparse_why_not(config: Config) -> str | None:
    head = int(config["index_head_dim"])
    if head < HADAMARD or head & (head - 1):
        return f"its index_head_dim is {head}, llama.cpp takes a power of two from {HADAMARD} on"
    if not config["finds"][0]:
        return "its first layer has no indexer, and none is before it"
    if not config.get("q_lora_rank"):
        return "it has no q_lora_rank, llama.cpp takes queries out of a vector"
    return own.takes(attention_bias=False, mlp_bias=False)(config) or no_experts(config)


# Of tokens that an indexer scores alike llama.cpp may attend to another: so it was with 4 heads,
# which gave 7 of 82 tokens a zero that was shared at the end of what is taken, none with 16.
GLM_DSA = Architecture(
    MODEL_ARCH.GLM_DSA,
    ropes=("default",),
    settings=sparse_settings,
    own_keys={"num_experts": "n_routed_experts"},
    head_widths=kept_widths,
    kv_heads=one_head,
    write_keys=sparse_keys,
    why_not=own.first_of(sparse_why_not, mixtures.dense_first),
)


def with_halves(architecture: Architecture, config: Config, width: int) -> Architecture:
    """Whose matrix of keys and values is two in the file. width: of keys, where none is said"""
    heads = int(config.get("num_attention_heads") or 1)
    width = int(config.get("qk_nope_head_dim", width))
    parts = {"kv_b_proj.weight": LatentParts(heads=heads, width=width)}
    return replace(architecture, parts=parts)


def glm_dsa(config: Config) -> Architecture:
    return with_halves(GLM_DSA, config, 192)


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
    "GlmMoeDsaForCausalLM": replace(GLM_DSA, variant=glm_dsa),
    "Glm4MoeLiteForCausalLM": replace(
        DEEPSEEK,
        write_keys=glm_keys,
        why_not=own.first_of(
            latent_why_not, lambda config: mixtures.dense_first(_as_counted(config))
        ),
    ),
}
