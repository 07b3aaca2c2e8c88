"""Falcon-H1: every layer attends and holds a state of Mamba 2's beside it.

Its config multiplies what single matrices give. llama.cpp has no keys for that: the rows of those
matrices are multiplied instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import hybrid
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config


def inner_width(config: Config) -> int:
    """Features of a token that a state is held for."""
    said = config.get("mamba_d_ssm")
    return int(said or int(config.get("mamba_expand") or 2) * int(config["hidden_size"]))


def state_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_ssm_conv_kernel(int(config.get("mamba_d_conv") or 4))
    writer.add_ssm_state_size(int(config["mamba_d_state"]))
    writer.add_ssm_group_count(int(config.get("mamba_n_groups") or 1))
    writer.add_ssm_inner_size(inner_width(config))
    writer.add_ssm_time_step_rank(int(config["mamba_n_heads"]))


def factors(config: Config) -> Mapping[str, np.ndarray | float]:
    """By endings of tensors, a number or one for each row, (rows,)."""

    def said(key: str) -> float:
        value = config.get(f"{key}_multiplier")
        return 1.0 if value is None else float(value)

    gate, down = config.get("mlp_multipliers") or (1.0, 1.0)
    # Of the keys' a half goes to the queries, so that no scale is too small for float16.
    shared = said("attention_in") * math.sqrt(said("key"))
    head = said("lm_head")
    if config.get("tie_word_embeddings", False):
        head /= said("embedding")  # which the rows of the head are multiplied by, too
    return {
        "embed_tokens.weight": said("embedding"),
        "final_layernorm.weight": head,
        "q_proj.weight": shared,
        "k_proj.weight": shared,
        "v_proj.weight": said("attention_in"),
        "o_proj.weight": said("attention_out"),
        "mamba.in_proj.weight": said("ssm_in") * state_rows(config),
        "mamba.out_proj.weight": said("ssm_out"),
        "gate_proj.weight": float(gate),
        "down_proj.weight": float(down),
    }


def state_rows(config: Config) -> np.ndarray:
    """What multiplies gate, values, keys, queries and steps of a state, which one matrix gives.

    returns: (rows,) float64
    """
    inner = inner_width(config)
    states = int(config.get("mamba_n_groups") or 1) * int(config["mamba_d_state"])
    counts = (inner, inner, states, states, int(config["mamba_n_heads"]))
    return np.repeat(np.array(config.get("ssm_multipliers") or [1.0] * 5, float), counts)


def falcon_why_not(config: Config) -> str | None:
    if config.get("mamba_rms_norm") and config.get("mamba_norm_before_gate", True):
        return "its mamba_norm_before_gate is true, llama.cpp's norms come after the gate"
    if float(config.get("key_multiplier") or 1.0) < 0:
        return f"its key_multiplier is {config['key_multiplier']}, llama.cpp takes a positive one"
    taken = own.takes(
        attention_bias=False,
        mlp_bias=False,
        mamba_proj_bias=False,
        projectors_bias=False,
        mamba_conv_bias=True,
    )
    return hybrid.steps_why_not(config) or taken(config)


FALCON_H1 = {
    "FalconH1ForCausalLM": Architecture(
        MODEL_ARCH.FALCON_H1,
        ropes=("default", "linear"),
        values=hybrid.of_state("mamba"),
        factors=factors,
        write_keys=state_keys,
        why_not=falcon_why_not,
    ),
}
