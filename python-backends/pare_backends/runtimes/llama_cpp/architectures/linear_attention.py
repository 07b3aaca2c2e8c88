"""Architectures most of whose layers hold a state in the place of keys and values (delta nets)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import (
    Architecture,
    usual_widths,
)
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

ROTATED = 0.25
"""The share of a head that they rotate where a config does not say."""


def decay(logarithms: np.ndarray, config: Config) -> np.ndarray:
    """By what a state decays: a checkpoint has its logarithm."""
    return -np.exp(logarithms)


def period(config: Config) -> int:
    """Every so-manieth layer attends to all tokens."""
    kinds = list(config.get("layer_types") or [])
    if "full_attention" in kinds:
        return kinds.index("full_attention") + 1
    return int(config.get("full_attention_interval") or 4)


def delta_keys(writer: GGUFWriter, config: Config) -> None:
    heads = int(config["linear_num_value_heads"])
    writer.add_ssm_conv_kernel(int(config["linear_conv_kernel_dim"]))
    writer.add_ssm_state_size(int(config["linear_key_head_dim"]))
    writer.add_ssm_group_count(int(config["linear_num_key_heads"]))
    writer.add_ssm_time_step_rank(heads)
    writer.add_ssm_inner_size(int(config["linear_value_head_dim"]) * heads)
    writer.add_full_attention_interval(period(config))


def next_keys(writer: GGUFWriter, config: Config) -> None:
    mixtures.mixture_keys(writer, config)
    delta_keys(writer, config)


def sections_keys(writer: GGUFWriter, config: Config) -> None:
    """Pairs of features by turns tell time, height and width, which of a text are one."""
    delta_keys(writer, config)
    pairs = usual_widths(config).rotated * rotated_share(config) // 2
    writer.add_rope_dimension_sections([int(pairs + 2 - at) // 3 for at in range(3)] + [0])


def rotated_share(config: Config) -> float:
    said = config.get("rope_parameters") or {}
    share = said.get("partial_rotary_factor", config.get("partial_rotary_factor"))
    return ROTATED if share is None else float(share)


def mixed_sections_keys(writer: GGUFWriter, config: Config) -> None:
    mixtures.mixture_keys(writer, config)
    sections_keys(writer, config)


def delta_why_not(config: Config) -> str | None:
    kinds, every = list(config.get("layer_types") or []), period(config)
    expected = ["linear_attention", "full_attention"]
    if kinds and kinds != [expected[(i + 1) % every == 0] for i in range(len(kinds))]:
        return f"not every {every}th of its layers, and no other, attends to all tokens"
    width, other = config["linear_key_head_dim"], config["linear_value_head_dim"]
    if width != other:
        return f"its linear_key_head_dim is {width} and its linear_value_head_dim {other}"
    return own.takes(attention_bias=False)(config)


def values_by_turns(config: Config, width: int) -> np.ndarray:
    """Value heads of `width` numbers each in llama.cpp's order: transformers has those that share a
    key side by side, llama.cpp gives keys to values by turns."""
    keys = int(config["linear_num_key_heads"])
    heads = np.arange(int(config["linear_num_value_heads"])).reshape(keys, -1).T.reshape(-1)
    return (heads[:, None] * width + np.arange(width)).reshape(-1)


def shares_keys(config: Config) -> bool:
    return config["linear_num_value_heads"] != config["linear_num_key_heads"]


def value_rows(config: Config) -> dict[str, np.ndarray]:
    if not shares_keys(config):
        return {}
    before = 2 * int(config["linear_num_key_heads"]) * int(config["linear_key_head_dim"])
    each, whole = (values_by_turns(config, n) for n in (1, int(config["linear_value_head_dim"])))
    behind = np.concatenate([np.arange(before), before + whole])
    return {
        **dict.fromkeys(("in_proj_qkv.weight", "linear_attn.conv1d.weight"), behind),
        "in_proj_z.weight": whole,
        **dict.fromkeys(("in_proj_a.weight", "in_proj_b.weight", ".A_log", ".dt_bias"), each),
    }


def value_columns(config: Config) -> dict[str, np.ndarray]:
    width = int(config["linear_value_head_dim"])
    return (
        {"linear_attn.out_proj.weight": values_by_turns(config, width)}
        if shares_keys(config)
        else {}
    )


QWEN_NEXT = Architecture(
    MODEL_ARCH.QWEN3NEXT,
    ropes=("default", "yarn"),
    rotated=ROTATED,
    same_heads=True,
    norm_shift=1.0,
    unshifted=("linear_attn.norm.weight",),
    values={".A_log": decay},
    write_keys=next_keys,
    why_not=own.first_of(delta_why_not, mixtures.mixture_why_not(True)),
)
QWEN_35 = replace(
    QWEN_NEXT,
    kind=MODEL_ARCH.QWEN35,
    ropes=("default",),
    write_keys=sections_keys,
    row_orders=value_rows,
    column_orders=value_columns,
    why_not=delta_why_not,
)

LINEAR_ATTENTION = {
    "Qwen3NextForCausalLM": QWEN_NEXT,
    "Qwen3_5ForCausalLM": QWEN_35,
    "Qwen3_5MoeForCausalLM": replace(
        QWEN_35, kind=MODEL_ARCH.QWEN35MOE, write_keys=mixed_sections_keys
    ),
}
