"""Architectures most of whose layers hold a state in the place of keys and values (delta nets)."""

from __future__ import annotations

from dataclasses import replace

from gguf import MODEL_ARCH, GGUFWriter
from numpy import exp, ndarray

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import (
    Architecture,
    usual_widths,
)
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

ROTATED = 0.25
"""The share of a head that they rotate where a config does not say."""


def decay(logarithms: ndarray, config: Config) -> ndarray:
    """By what a state decays: a checkpoint has its logarithm."""
    return -exp(logarithms)


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


def a_value_for_each_key(config: Config) -> str | None:
    keys, values = config["linear_num_key_heads"], config["linear_num_value_heads"]
    if keys == values:
        return None
    return (
        f"its {values} linear_num_value_heads share {keys} keys, and llama.cpp has their columns"
        " in another order, by which blocks would be torn"
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
    why_not=own.first_of(delta_why_not, a_value_for_each_key),
)

LINEAR_ATTENTION = {
    "Qwen3NextForCausalLM": QWEN_NEXT,
    "Qwen3_5ForCausalLM": QWEN_35,
    "Qwen3_5MoeForCausalLM": replace(
        QWEN_35, kind=MODEL_ARCH.QWEN35MOE, write_keys=mixed_sections_keys
    ),
}
