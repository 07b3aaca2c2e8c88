"""Gemma 3n: four streams of a text beside each other (AltUp), of which one goes through a layer; a
low-rank way around attention (laurel); an embedding of the token for each layer; the last layers
take the keys and values of layers before them.

llama.cpp's graph of it has the shape of Google's two models built in: where a config has another,
no file is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import (
    TANH_GELU,
    Architecture,
    HeadWidths,
)
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

SPARSE_LAYERS, SPARSITY, DEVIATIONS = 10, 0.95, 1.6448533535003662
"""Of the first layers' gates llama.cpp cuts off what lies below so many deviations, and no other
layers': as much as leaves the last twentieth of a normal distribution."""
OWN_KEYS = 20
"""Layers that have keys and values of their own; those behind take the last ones' of their kind."""
PERIOD, HEAD = 5, 256
BUILT_IN: dict[str, Any] = {
    "altup_num_inputs": 4, "altup_active_idx": 0, "altup_correct_scale": True, "laurel_rank": 64,
    "hidden_size_per_layer_input": 256, "final_logit_softcapping": 30.0,
    "attention_bias": False,
}  # fmt: skip
"""Settings that llama.cpp reads out of no file, as it has them: they are transformers' defaults."""


def layers_of(config: Config) -> int:
    return int(config["num_hidden_layers"])


def widths_of_mlps(config: Config) -> list[int]:
    said = config.get("intermediate_size") or 16_384
    return [int(one) for one in said] if isinstance(said, list) else [int(said)] * layers_of(config)


def sparsity(config: Config) -> list[float]:
    """The share of a layer's gates that is cut off, by layer, as transformers has it."""
    said, count = config.get("activation_sparsity_pattern"), layers_of(config)
    if said is None:
        first = SPARSE_LAYERS if count > SPARSE_LAYERS else 0
        return [SPARSITY] * first + [0.0] * (count - first)
    return [float(one) for one in said] if isinstance(said, list) else [float(said)] * count


def shared_layers(config: Config) -> int:
    said = config.get("num_kv_shared_layers")
    return 15 if said is None else int(said)


def head_width(config: Config) -> HeadWidths:
    width = int(config.get("head_dim") or HEAD)
    return HeadWidths(width, width, width)


def gemma3n_keys(writer: GGUFWriter, config: Config) -> None:
    """llama.cpp reads the window's and takes the others for granted; its own converter writes them
    for whoever reads a file too."""
    own.gemma3_keys(writer, config)
    kinds = [(layer + 1) % PERIOD != 0 for layer in range(layers_of(config))]
    writer.add_sliding_window_pattern(kinds)
    writer.add_altup_num_inputs(BUILT_IN["altup_num_inputs"])
    writer.add_altup_active_idx(BUILT_IN["altup_active_idx"])
    writer.add_embedding_length_per_layer_input(BUILT_IN["hidden_size_per_layer_input"])
    writer.add_shared_kv_layers(shared_layers(config))
    cut = (one > 0 for one in sparsity(config))
    writer.add_activation_sparsity_scale([DEVIATIONS if one else float("-inf") for one in cut])


def gemma3n_why_not(config: Config) -> str | None:
    count, shared = layers_of(config), shared_layers(config)
    if count - shared != OWN_KEYS and (shared > 0 or count > OWN_KEYS):
        return (
            f"{count - shared} of its {count} layers have keys of their own, llama.cpp takes the"
            f" first {OWN_KEYS}"
        )
    wanted = [SPARSITY if i < SPARSE_LAYERS else 0.0 for i in range(count)]
    if not np.allclose(sparsity(config), wanted, atol=1e-6):
        return (
            "its activation_sparsity_pattern is not"
            f" {SPARSITY} of the first {SPARSE_LAYERS} layers and 0 of the others, as in llama.cpp"
        )
    if len(set(widths_of_mlps(config))) > 1:
        return "its intermediate_size differs by layer, llama.cpp takes one for all"
    if int(config["hidden_size"]) % 32 != 0:
        return f"its hidden_size is {config['hidden_size']}, no multiple of 32"
    rows, words = config.get("vocab_size_per_layer_input"), int(config["vocab_size"])
    if rows is not None and int(rows) > words:
        return f"its embeddings by layer have {rows} rows, llama.cpp takes {words}"
    local = (config.get("rope_parameters") or {}).get("sliding_attention") or {}
    other = own.takes(rope_type="default")(local)
    if other is not None:
        return f"{other} of layers with a window"
    return own.takes(**BUILT_IN)(config)


def gemma3n_note(config: Config) -> str:
    width = widths_of_mlps(config)[0]
    return (
        "llama.cpp divides by one less where it takes the deviation by which the first"
        f" {SPARSE_LAYERS} layers cut off: of {width} features it is {1 / (2 * width):.0e} larger"
    )


def unread_keys(config: Config) -> Mapping[str, tuple[int, ...]]:
    """llama.cpp's loader asks each layer for keys and values, its graph the first ones alone."""
    head, inputs = head_width(config).key, int(config["hidden_size"])
    heads = int(config.get("num_key_value_heads") or 2)
    found: dict[str, tuple[int, ...]] = {}
    for layer in range(OWN_KEYS, layers_of(config)):
        found[f"blk.{layer}.attn_k.weight"] = (heads * head, inputs)
        found[f"blk.{layer}.attn_v.weight"] = (heads * head, inputs)
        found[f"blk.{layer}.attn_k_norm.weight"] = (head,)
    return found


GEMMA3N = {
    "Gemma3nForCausalLM": Architecture(
        MODEL_ARCH.GEMMA3N,
        ropes=("default",),
        activations=TANH_GELU,
        head_widths=head_width,
        window_period=PERIOD,
        width=widths_of_mlps,
        all_words=("embed_tokens_per_layer.weight",),
        unread=unread_keys,
        write_keys=gemma3n_keys,
        note=gemma3n_note,
        why_not=gemma3n_why_not,
    ),
}
