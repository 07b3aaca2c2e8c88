"""Mamba, FalconMamba and Mamba 2: a state in every layer, and no attention.

llama.cpp has one epsilon for all norms. Those that FalconMamba has of steps, B and C have their
own: the rows that give the three are multiplied by s, since a norm of s·x with epsilon e is that of
x with epsilon e / s².
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import hybrid
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture, HeadWidths
from pare_backends.runtimes.llama_cpp.architectures.jamba import SHARE
from pare_backends.runtimes.llama_cpp.architectures.linear_attention import decay
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

LONGEST = 2**20
"""Tokens of the longest text, as llama.cpp's converter writes it: a state has no end."""
OF_STEPS = 1e-6
"""FalconMamba's epsilon of the norms of steps, B and C, where its config says none."""


def without_heads(config: Config) -> Config:
    """Its config says nothing of heads, or, in Mamba 2, of those of its state."""
    return {"max_position_embeddings": LONGEST, **config, "num_attention_heads": 0}


def no_widths(config: Config) -> HeadWidths:
    return HeadWidths(0, 0, 0)


def no_width(config: Config) -> int:
    return 0


def state_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_ssm_conv_kernel(int(config.get("conv_kernel") or 4))
    writer.add_ssm_inner_size(hybrid.INNER * int(config["hidden_size"]))


def mamba_keys(writer: GGUFWriter, config: Config) -> None:
    rank = config.get("time_step_rank")
    state_keys(writer, config)
    writer.add_ssm_state_size(int(config.get("state_size") or 16))
    writer.add_ssm_time_step_rank(
        rank if isinstance(rank, int) else -(-int(config["hidden_size"]) // SHARE)
    )


def falcon_keys(writer: GGUFWriter, config: Config) -> None:
    mamba_keys(writer, config)
    writer.add_ssm_dt_b_c_rms(True)


def mamba2_keys(writer: GGUFWriter, config: Config) -> None:
    state_keys(writer, config)
    writer.add_ssm_state_size(int(config.get("state_size") or 128))
    writer.add_ssm_time_step_rank(int(config["num_heads"]))
    writer.add_ssm_group_count(1)


def mamba_why_not(config: Config) -> str | None:
    said, hidden = config.get("intermediate_size"), int(config["hidden_size"])
    if said is not None and said != hybrid.INNER * hidden:
        return f"its intermediate_size is {said}, llama.cpp takes {hybrid.INNER * hidden}"
    return TAKEN(config)


def falcon_factors(config: Config) -> Mapping[str, np.ndarray | float]:
    """By endings of tensors, a number for all of its rows."""
    usual = float(config.get("layer_norm_epsilon") or 1e-5)
    return {"x_proj.weight": math.sqrt(usual / float(config.get("mixer_rms_eps") or OF_STEPS))}


def mamba2_why_not(config: Config) -> str | None:
    groups = int(config.get("n_groups") or 8)
    if groups > 1:
        return (
            f"its n_groups is {groups}, and llama.cpp norms what each gives by itself,"
            " transformers all of it"
        )
    return hybrid.steps_why_not(config) or TAKEN(config)


TAKEN = own.takes(expand=hybrid.INNER, use_bias=False, use_conv_bias=True)
MAMBA = Architecture(
    MODEL_ARCH.MAMBA,
    ropes=(),
    norm_key="layer_norm_epsilon",
    settings=without_heads,
    head_widths=no_widths,
    width=no_width,
    kv_heads=no_width,
    values={".A_log": decay},
    write_keys=mamba_keys,
    why_not=mamba_why_not,
)
MAMBAS = {
    "MambaForCausalLM": MAMBA,
    "FalconMambaForCausalLM": replace(MAMBA, write_keys=falcon_keys, factors=falcon_factors),
    "Mamba2ForCausalLM": replace(
        MAMBA,
        kind=MODEL_ARCH.MAMBA2,
        values=hybrid.of_state("mixer"),
        write_keys=mamba2_keys,
        why_not=mamba2_why_not,
    ),
}
