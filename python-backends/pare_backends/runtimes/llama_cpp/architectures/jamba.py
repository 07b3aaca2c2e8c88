"""Jamba: layers that hold a state of Mamba's, some that attend, and every so-manieth a mixture."""

from __future__ import annotations

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture
from pare_backends.runtimes.llama_cpp.architectures.linear_attention import decay
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

SHARE = 16
"""Of a token's features the steps of a state have one in so many, where a config does not say."""


def jamba_settings(config: Config) -> Config:
    """Its config says every how-manieth layer attends."""
    count = int(config.get("num_hidden_layers") or 0)
    period = int(config.get("attn_layer_period") or 8)
    offset = int(config.get("attn_layer_offset", 4))
    kinds = ["full_attention" if i % period == offset else "mamba" for i in range(count)]
    return {**config, "layer_types": kinds}


def jamba_keys(writer: GGUFWriter, config: Config) -> None:
    rank = config.get("mamba_dt_rank")
    hidden = int(config["hidden_size"])
    if not isinstance(rank, int):
        rank = -(-hidden // SHARE)
    writer.add_ssm_conv_kernel(int(config.get("mamba_d_conv") or 4))
    writer.add_ssm_state_size(int(config.get("mamba_d_state") or 16))
    writer.add_ssm_inner_size(2 * hidden)
    writer.add_ssm_time_step_rank(rank)
    if mixtures.experts(config) > 1:
        mixtures.mixture_keys(writer, config)


def jamba_why_not(config: Config) -> str | None:
    head = int(config.get("head_dim") or 0) * int(config["num_attention_heads"])
    if head and head != int(config["hidden_size"]):
        return f"its heads have {head} features together, llama.cpp takes its hidden_size"
    return own.takes(mamba_expand=2, mamba_proj_bias=False, mamba_conv_bias=True)(config)


JAMBA = {
    "JambaForCausalLM": Architecture(
        MODEL_ARCH.JAMBA,
        ropes=(),
        settings=jamba_settings,
        values={".A_log": decay},
        write_keys=jamba_keys,
        why_not=jamba_why_not,
    ),
}
