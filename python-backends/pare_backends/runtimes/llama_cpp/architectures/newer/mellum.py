"""Mellum 2: a mixture in every layer, windows in most; those layers rotate as plainly as they would
without what stretches the others."""

from __future__ import annotations

from typing import Any

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import STRETCHED, Architecture
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import NewerKind
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

FULL, WINDOW = "full_attention", "sliding_attention"
FULL_BASE, WINDOW_BASE = 5e5, 1e4
"""Of the two kinds of layers, where a config is silent."""


def mellum_settings(config: Config) -> Config:
    count = int(config.get("num_hidden_layers") or 0)
    kinds = config.get("layer_types") or [FULL] * count
    usual = {FULL: {"rope_theta": FULL_BASE}, WINDOW: {"rope_theta": WINDOW_BASE}}
    rope = dict(config.get("rope_parameters") or usual)
    if FULL not in kinds:  # those that have windows rotate by what llama.cpp has for all
        rope[FULL] = rope.get(WINDOW)
    return {"norm_topk_prob": True, **config, "layer_types": kinds, "rope_parameters": rope}


def has_windows(config: Config) -> bool:
    return WINDOW in config["layer_types"]


def mellum_keys(writer: GGUFWriter, config: Config) -> None:
    mixtures.mixture_keys(writer, config)
    if has_windows(config):
        own.window_keys(writer, config)


def mellum_why_not(config: Config) -> str | None:
    rope: dict[str, Any] = dict(config["rope_parameters"])
    if has_windows(config):
        if config.get("sliding_window") is None:
            return "it has no sliding_window, and layers with one"
        local = dict(rope.get(WINDOW) or {})
        if (other := own.takes(rope_type="default")(local)) is not None:
            return f"{other} of layers with a window"
        bases = [(rope.get(kind) or {}).get("rope_theta") for kind in (FULL, WINDOW)]
        if FULL in config["layer_types"] and bases[0] != bases[1]:
            return f"its rope_theta is {bases[0]} and {bases[1]}, llama.cpp takes one"
    if "dense" in (config.get("mlp_layer_types") or ()):
        return "some of its mlp_layer_types are dense, llama.cpp takes that all are sparse"
    return own.takes(attention_bias=False, norm_topk_prob=True)(config) or own.olmo2_why_not(config)


MELLUM = {
    "MellumForCausalLM": Architecture(
        NewerKind("mellum", MODEL_ARCH.QWEN3MOE),
        ropes=STRETCHED,
        settings=mellum_settings,
        own_windows=True,
        write_keys=mellum_keys,
        why_not=mellum_why_not,
    ),
}
