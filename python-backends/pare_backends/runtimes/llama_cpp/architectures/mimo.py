"""MiMo-V2-Flash: layers with windows, whose heads have twice the keys and a sink each, beside ones
that see all tokens; values narrower than keys, and scaled; a mixture without shared experts.

What its config does not say is transformers' own, whatever words of the hub's stand beside it.
"""

from __future__ import annotations

from typing import Any

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture, HeadWidths
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

FULL, WINDOW = "full_attention", "sliding_attention"
SHARE, FULL_BASE, WINDOW_BASE = 0.334, 5e6, 1e4
"""Of a head what is rotated, and the bases of the two kinds of layers, where a config is silent."""
UNSAID: dict[str, Any] = {
    "head_dim": 192, "v_head_dim": 128, "sliding_window": 128, "attention_value_scale": 0.707,
}  # fmt: skip


def mimo_settings(config: Config) -> Config:
    count = int(config.get("num_hidden_layers") or 0)
    usual = [FULL if i == 0 or (i + 1) % 6 == 0 else WINDOW for i in range(count)]
    rope = {
        FULL: {"rope_theta": FULL_BASE, "partial_rotary_factor": SHARE},
        WINDOW: {"rope_theta": WINDOW_BASE, "partial_rotary_factor": SHARE},
    }
    found = {
        "layer_types": config.get("layer_types") or usual,
        "rope_parameters": config.get("rope_parameters") or rope,
    }
    return {**UNSAID, **config, **found}


def mimo_widths(config: Config) -> HeadWidths:
    head = int(config["head_dim"])
    return HeadWidths(head, int(config["v_head_dim"]), head)


def heads_of_keys(config: Config) -> list[int]:
    keys = int(config["num_key_value_heads"])
    return [2 * keys if kind == WINDOW else keys for kind in config["layer_types"]]


def mimo_keys(writer: GGUFWriter, config: Config) -> None:
    mixtures.sigmoid_keys(writer, config)
    own.window_keys(writer, config)
    writer.add_rope_freq_base_swa(float(config["rope_parameters"][WINDOW]["rope_theta"]))
    if config["attention_value_scale"] is not None:
        scale = float(config["attention_value_scale"])
        writer.add_float32("mimo2.attention.value_scale", scale)


def mimo_why_not(config: Config) -> str | None:
    if WINDOW not in config["layer_types"]:
        return "none of its layers has a window, llama.cpp takes some"
    rope = config["rope_parameters"]
    if not {FULL, WINDOW} <= set(rope):
        return f"its rope_parameters are not of {FULL} and of {WINDOW}, llama.cpp takes both"
    shares = [rope[kind].get("partial_rotary_factor", SHARE) for kind in (FULL, WINDOW)]
    if shares[0] != shares[1]:
        return f"its partial_rotary_factor is {shares[0]} and {shares[1]}, llama.cpp takes one"
    other = own.takes(rope_type="default")(rope[WINDOW])
    if other is not None:
        return f"{other} of layers with a window"
    return own.takes(
        attention_bias=False, norm_topk_prob=True, routed_scaling_factor=1.0, n_group=1
    )(config)


MIMO = {
    "MiMoV2FlashForCausalLM": Architecture(
        MODEL_ARCH.MIMO2,
        ropes=("default",),
        rotated=SHARE,
        settings=mimo_settings,
        own_keys={"num_experts": "n_routed_experts"},
        head_widths=mimo_widths,
        own_windows=True,
        layer_kv_heads=heads_of_keys,
        write_keys=mimo_keys,
        why_not=own.first_of(mimo_why_not, own.olmo2_why_not),
    ),
}
