"""What llama.cpp computes as transformers does: an entry an architecture, read from both sources.

llama.cpp rotates neighbouring features of a head of some architectures, where transformers rotates
a feature of its first half with one of its second: rows of the query and key projections are put
in that order. Gemma's norms multiply by one more than they store, in llama.cpp by what they store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gguf import MODEL_ARCH, GGUFWriter

Config = Mapping[str, Any]


def _no_keys(writer: GGUFWriter, config: Config) -> None:
    pass


def _nothing_else(config: Config) -> str | None:
    return None


@dataclass(frozen=True)
class Architecture:
    """llama.cpp's way to compute an architecture of transformers."""

    kind: MODEL_ARCH
    neighbours: bool = False  # whether it rotates neighbouring features
    ropes: tuple[str, ...] = ("default", "linear")  # types that it computes as transformers does
    activations: tuple[str, ...] = ("silu",)  # names of what it computes, its own first
    activation_key: str = "hidden_act"  # where a config says it
    norm_key: str = "rms_norm_eps"  # a config's epsilon of its norms
    centred: bool = False  # whether its norms subtract a mean
    own_keys: Mapping[str, str] = field(default_factory=dict)  # other names for the usual keys
    turned: tuple[str, ...] = ()  # endings of matrices that lie as (in, out) in the checkpoint
    fused: str | None = None  # a layer with each head's query, key and value behind each other
    norm_shift: float = 0.0  # what its norms multiply by beyond what they store
    window_period: int | None = None  # of so many layers the last sees all; None: every layer does
    write_keys: Callable[[GGUFWriter, Config], None] = _no_keys
    why_not: Callable[[Config], str | None] = _nothing_else  # what it computes otherwise


TANH_GELU = ("gelu_pytorch_tanh", "gelu_new", "gelu_fast")
"""transformers' names of the gelu by a tanh, which llama.cpp reads out of a table of float16."""


def _granite_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_attention_scale(float(config["attention_multiplier"]))
    writer.add_embedding_scale(float(config["embedding_multiplier"]))
    writer.add_residual_scale(float(config["residual_multiplier"]))
    writer.add_logit_scale(float(config["logits_scaling"]))


def _gemma2_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_sliding_window(int(config["sliding_window"]))
    writer.add_attn_logit_softcapping(float(config["attn_logit_softcapping"]))
    writer.add_final_logit_softcapping(float(config["final_logit_softcapping"]))


def _gemma3_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_sliding_window(int(config["sliding_window"]))
    local = (config.get("rope_parameters") or {}).get("sliding_attention") or {}
    base = local.get("rope_theta") or config.get("rope_local_base_freq") or 10_000.0
    writer.add_rope_freq_base_swa(float(base))
    if config.get("final_logit_softcapping"):
        writer.add_final_logit_softcapping(float(config["final_logit_softcapping"]))


def _gemma_scale(layers_27b: int) -> Callable[[Config], str | None]:
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


def _gemma2_why_not(config: Config) -> str | None:
    for cap in ("attn_logit_softcapping", "final_logit_softcapping"):
        if not config.get(cap):
            return f"it has no {cap}, llama.cpp caps them always"
    if not config.get("tie_word_embeddings", True):
        return "its head is not its embedding, llama.cpp takes that"
    return _gemma_scale(46)(config)


def _gemma3_why_not(config: Config) -> str | None:
    if config.get("attn_logit_softcapping"):
        return "it has an attn_logit_softcapping, llama.cpp has none"
    return _gemma_scale(62)(config)


def _olmo2_why_not(config: Config) -> str | None:
    tied = config.get("tie_word_embeddings", False)
    return "its head is its embedding, llama.cpp wants one of its own" if tied else None


def _experts(config: Config) -> int:
    return int(config.get("num_local_experts") or config["num_experts"])


def _mixture_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_expert_count(_experts(config))
    writer.add_expert_used_count(int(config["num_experts_per_tok"]))
    if config.get("moe_intermediate_size"):
        writer.add_expert_feed_forward_length(int(config["moe_intermediate_size"]))
    if config.get("shared_expert_intermediate_size"):
        shared = int(config["shared_expert_intermediate_size"])
        writer.add_expert_shared_feed_forward_length(shared)


def _mixture_why_not(normalized: bool) -> Callable[[Config], str | None]:
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


def _olmoe_why_not(config: Config) -> str | None:
    heads, kv_heads = config["num_attention_heads"], config.get("num_key_value_heads")
    if kv_heads not in (None, heads):
        return f"its {heads} heads share {kv_heads} keys, llama.cpp's olmoe has a key for each"
    return _mixture_why_not(False)(config)


def _phi3_keys(writer: GGUFWriter, config: Config) -> None:
    # Without it llama.cpp takes a window that the first of these models had.
    writer.add_sliding_window(int(config["max_position_embeddings"]))


NO_ROPE_PERIOD = 4
"""llama.cpp rotates all but every fourth layer of SmolLM3."""


def _smollm3_why_not(config: Config) -> str | None:
    count = int(config["num_hidden_layers"])
    period = int(config.get("no_rope_layer_interval") or NO_ROPE_PERIOD)
    rotated = config.get("no_rope_layers") or [int((i + 1) % period != 0) for i in range(count)]
    if list(rotated[:count]) == [int((i + 1) % NO_ROPE_PERIOD != 0) for i in range(count)]:
        return None
    return f"its no_rope_layers leave out others than every {NO_ROPE_PERIOD}th, as llama.cpp does"


def _parallel_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_parallel_residual(bool(config.get("use_parallel_residual", False)))


def _neox_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_parallel_residual(bool(config.get("use_parallel_residual", True)))


def _gpt2_why_not(config: Config) -> str | None:
    for key, taken in (
        ("scale_attn_weights", True),
        ("scale_attn_by_inverse_layer_idx", False),
        ("add_cross_attention", False),
    ):
        if bool(config.get(key, taken)) != taken:
            return f"its {key} is {json.dumps(config[key])}, llama.cpp takes {json.dumps(taken)}"
    return None


def _bloom_why_not(config: Config) -> str | None:
    if config.get("apply_residual_connection_post_layernorm"):
        return "its residuals are of what a norm gives, llama.cpp's of what it takes"
    return None


def _no_head_norms(config: Config) -> str | None:
    for key in ("qk_layernorm", "use_qk_norm"):
        if config.get(key):
            return f"its {key} is true, llama.cpp normalizes no heads of it"
    return None


def _cohere_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_logit_scale(float(config["logit_scale"]))


def _olmo_keys(writer: GGUFWriter, config: Config) -> None:
    if config.get("clip_qkv") is not None:
        writer.add_clamp_kqv(float(config["clip_qkv"]))


LLAMA = Architecture(MODEL_ARCH.LLAMA, True, ("default", "linear", "llama3"))
ARCHITECTURES = {
    "LlamaForCausalLM": LLAMA,
    "MistralForCausalLM": LLAMA,
    "Qwen2ForCausalLM": Architecture(MODEL_ARCH.QWEN2),
    "Qwen3ForCausalLM": Architecture(MODEL_ARCH.QWEN3),
    "GraniteForCausalLM": Architecture(MODEL_ARCH.GRANITE, True, write_keys=_granite_keys),
    "Gemma2ForCausalLM": Architecture(
        MODEL_ARCH.GEMMA2,
        ropes=("default",),
        activations=TANH_GELU,
        norm_shift=1.0,
        window_period=2,
        write_keys=_gemma2_keys,
        why_not=_gemma2_why_not,
    ),
    "Gemma3ForCausalLM": Architecture(
        MODEL_ARCH.GEMMA3,
        activations=TANH_GELU,
        norm_shift=1.0,
        window_period=6,
        write_keys=_gemma3_keys,
        why_not=_gemma3_why_not,
    ),
    "Olmo2ForCausalLM": Architecture(MODEL_ARCH.OLMO2, why_not=_olmo2_why_not),
    "SmolLM3ForCausalLM": Architecture(
        MODEL_ARCH.SMOLLM3, True, ("default",), why_not=_smollm3_why_not
    ),
    "Phi3ForCausalLM": Architecture(MODEL_ARCH.PHI3, ropes=("default",), write_keys=_phi3_keys),
    "GemmaForCausalLM": Architecture(
        MODEL_ARCH.GEMMA, activations=(*TANH_GELU, "gelu"), norm_shift=1.0
    ),
    "GPT2LMHeadModel": Architecture(
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
        why_not=_gpt2_why_not,
    ),
    "GPTNeoXForCausalLM": Architecture(
        MODEL_ARCH.GPTNEOX,
        ropes=("default", "linear"),
        activations=("gelu", *TANH_GELU),
        norm_key="layer_norm_eps",
        centred=True,
        own_keys={"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"},
        fused="query_key_value",
        write_keys=_neox_keys,
    ),
    "Starcoder2ForCausalLM": Architecture(
        MODEL_ARCH.STARCODER2,
        activations=TANH_GELU,
        norm_key="norm_epsilon",
        centred=True,
    ),
    "StableLmForCausalLM": Architecture(
        MODEL_ARCH.STABLELM,
        norm_key="layer_norm_eps",
        centred=True,
        write_keys=_parallel_keys,
        why_not=_no_head_norms,
    ),
    "PhiForCausalLM": Architecture(
        MODEL_ARCH.PHI2,
        activations=TANH_GELU,
        norm_key="layer_norm_eps",
        centred=True,
        why_not=_no_head_norms,
    ),
    "CohereForCausalLM": Architecture(
        MODEL_ARCH.COMMAND_R,
        norm_key="layer_norm_eps",
        centred=True,
        write_keys=_cohere_keys,
        why_not=_no_head_norms,
    ),
    "OlmoForCausalLM": Architecture(
        MODEL_ARCH.OLMO, True, norm_key="layer_norm_eps", centred=True, write_keys=_olmo_keys
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
        why_not=_bloom_why_not,
    ),
    "NemotronForCausalLM": Architecture(
        MODEL_ARCH.NEMOTRON,
        activations=("relu2",),
        norm_key="norm_eps",
        centred=True,
        norm_shift=1.0,
    ),
    "ArceeForCausalLM": Architecture(
        MODEL_ARCH.ARCEE, True, ("default", "linear", "llama3"), activations=("relu2",)
    ),
    "SeedOssForCausalLM": Architecture(MODEL_ARCH.SEED_OSS),
    "Ernie4_5ForCausalLM": Architecture(MODEL_ARCH.ERNIE4_5),
    "MixtralForCausalLM": Architecture(
        MODEL_ARCH.LLAMA, True, ("default", "linear", "llama3"), write_keys=_mixture_keys
    ),
    "Qwen2MoeForCausalLM": Architecture(
        MODEL_ARCH.QWEN2MOE, write_keys=_mixture_keys, why_not=_mixture_why_not(False)
    ),
    "Qwen3MoeForCausalLM": Architecture(
        MODEL_ARCH.QWEN3MOE, write_keys=_mixture_keys, why_not=_mixture_why_not(True)
    ),
    "OlmoeForCausalLM": Architecture(
        MODEL_ARCH.OLMOE, write_keys=_mixture_keys, why_not=_olmoe_why_not
    ),
}


def why_no_windows(architecture: Architecture, config: Config) -> str | None:
    """Why llama.cpp would attend to other tokens than the model does; None: to the same."""
    window = config.get("sliding_window")
    if not config.get("use_sliding_window", True):
        window = None
    if window is not None and int(window) >= int(config["max_position_embeddings"]):
        window = None  # it leaves out no token of any text
    kinds = config.get("layer_types") or []
    period = architecture.window_period
    if period is None:
        if window is None or (kinds and "sliding_attention" not in kinds):
            return None
        return (
            f"its sliding_window is {window}, llama.cpp's {architecture.kind.name.lower()}"
            " attends to every token"
        )
    if window is None:
        return f"it has no sliding_window, llama.cpp's {architecture.kind.name.lower()} has one"
    expected = [
        "full_attention" if (i + 1) % period == 0 else "sliding_attention"
        for i in range(int(config["num_hidden_layers"]))
    ]
    if kinds and list(kinds) != expected:
        return f"not every {period}th of its layers, and no other, sees all tokens, as in llama.cpp"
    return None
