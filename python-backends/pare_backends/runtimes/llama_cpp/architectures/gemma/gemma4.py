"""Gemma 4: layers with windows beside ones that see all tokens by wider heads, of which some share
one matrix for keys and values. The last ones may take the keys and values of layers before them,
and each an embedding of the token of its own. Experts, where there are some, stand beside the MLP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import (
    TANH_GELU,
    Architecture,
    HeadWidths,
)
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

FULL, WINDOW = "full_attention", "sliding_attention"
GLOBAL_HEAD, LAYER_FEATURES = 512, 256
"""Features of a head of layers that see all tokens, and of a layer's own embedding, where a config
does not say."""


def kinds(config: Config) -> list[str]:
    """By layer; the last sees all tokens whatever the config says, as transformers has it."""
    count = int(config["num_hidden_layers"])
    said = list(config.get("layer_types") or [])
    said = said or [WINDOW if (i + 1) % 6 else FULL for i in range(count)]
    return [*said[:-1], FULL]


def of_full_layers(config: Config, key: str) -> Any:
    """What layers that see all tokens have otherwise, as transformers writes it: layer by layer."""
    layers: Mapping[str, Mapping[str, Any]] = config.get("per_layer_config") or {}
    found = (layers.get(str(i), {}) for i, kind in enumerate(kinds(config)) if kind == FULL)
    return next((one[key] for one in found if key in one), None)


def gemma4_settings(config: Config) -> Config:
    head = of_full_layers(config, "head_dim") or config.get("global_head_dim") or GLOBAL_HEAD
    keys = of_full_layers(config, "num_key_value_heads")
    if config.get("attention_k_eq_v"):
        keys = keys or config.get("num_global_key_value_heads")
    keys = keys or config.get("num_key_value_heads")
    return {**config, "layer_types": kinds(config), "global_head_dim": head, "global_keys": keys}


def full_widths(config: Config) -> HeadWidths:
    head = int(config["global_head_dim"])
    return HeadWidths(head, head, head)


def heads_of_keys(config: Config) -> list[int]:
    wide, usual = int(config["global_keys"]), int(config["num_key_value_heads"])
    return [wide if kind == FULL else usual for kind in kinds(config)]


def widths_of_mlps(config: Config) -> list[int]:
    count, width = int(config["num_hidden_layers"]), own.usual_width(config)
    first = count - int(config.get("num_kv_shared_layers") or 0)
    wider = 2 if config.get("use_double_wide_mlp") and first > 0 else 1
    return [width if i < first else wider * width for i in range(count)]


def layer_features(config: Config) -> int:
    """Of an embedding that each layer takes besides; 0: none does."""
    said = config.get("hidden_size_per_layer_input", LAYER_FEATURES)
    return int(said or 0)


def gemma4_keys(writer: GGUFWriter, config: Config) -> None:
    local = (config.get("rope_parameters") or {}).get(WINDOW) or {}
    head = int(config.get("head_dim") or 256)
    own.window_keys(writer, config)
    writer.add_rope_freq_base_swa(float(local.get("rope_theta") or 10_000.0))
    writer.add_rope_dimension_count_swa(head)
    writer.add_key_length_swa(head)
    writer.add_value_length_swa(head)
    writer.add_shared_kv_layers(int(config.get("num_kv_shared_layers") or 0))
    writer.add_embedding_length_per_layer_input(layer_features(config))
    if config.get("enable_moe_block"):
        mixtures.mixture_keys(writer, config)
    if config.get("final_logit_softcapping"):
        writer.add_final_logit_softcapping(float(config["final_logit_softcapping"]))


def gemma4_why_not(config: Config) -> str | None:
    rows, words = config.get("vocab_size_per_layer_input"), config["vocab_size"]
    if layer_features(config) and rows not in (None, words):
        return f"its embeddings by layer have {rows} rows, llama.cpp takes {words}"
    if config.get("use_bidirectional_attention") == "all":
        return "its use_bidirectional_attention is all, llama.cpp's is causal"
    if config.get("sliding_window") is None:
        return "it has no sliding_window, llama.cpp's gemma4 has one"
    local = (config.get("rope_parameters") or {}).get(WINDOW) or {}
    other = own.takes(rope_type="default", partial_rotary_factor=1.0)(local)
    if other is not None:
        return f"{other} of layers with a window"
    shared = int(config.get("num_kv_shared_layers") or 0)
    before = kinds(config)[: int(config["num_hidden_layers"]) - shared]
    if shared and before[-2:] != [WINDOW, FULL]:
        return (
            f"its last {shared} layers take the keys of others than the two before them, one with a"
            " window and one without"
        )
    return own.takes(attention_bias=False)(config)


GEMMA4 = {
    "Gemma4ForCausalLM": Architecture(
        MODEL_ARCH.GEMMA4,
        ropes=("proportional",),
        activations=TANH_GELU,
        settings=gemma4_settings,
        own_keys={"num_experts_per_tok": "top_k_experts"},
        stacks=("experts.gate_up_proj", "experts.down_proj"),
        renamed={
            "router.per_expert_scale": "experts.down_proj.scale",
            "router.scale": "router.proj.scale",
        },
        head_widths=full_widths,
        own_windows=True,
        layer_kv_heads=heads_of_keys,
        width=widths_of_mlps,
        write_keys=gemma4_keys,
        why_not=gemma4_why_not,
    ),
}
