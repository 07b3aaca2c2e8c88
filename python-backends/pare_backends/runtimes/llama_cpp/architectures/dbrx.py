"""DBRX: a mixture whose experts lie behind each other in one matrix, the last one's turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gguf import MODEL_ARCH, GGUFWriter
from numpy import ndarray

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

BASE = 10_000.0
"""Of positions, as transformers has it where a config's rope_parameters do not say."""


def dbrx_settings(config: Config) -> Config:
    """Its config has one of its attention and one of its experts inside."""
    attention: Mapping[str, Any] = config.get("attn_config") or {}
    inner: Mapping[str, Any] = config.get("ffn_config") or {}
    return {
        **config,
        "num_key_value_heads": attention.get("kv_n_heads", 1),
        "clip_qkv": attention.get("clip_qkv"),
        "attention_base": attention.get("rope_theta"),
        "intermediate_size": inner.get("ffn_hidden_size", 3584),
        "num_experts": inner.get("moe_num_experts", 4),
        "num_experts_per_tok": inner.get("moe_top_k", 1),
        "moe_normalize_expert_weights": inner.get("moe_normalize_expert_weights", 1.0),
        "hidden_act": (inner.get("ffn_act_fn") or {}).get("name", "silu"),
    }


def by_experts(values: ndarray, config: Config) -> ndarray:
    """values: (experts · width, hidden); returns: (experts, width, hidden)"""
    return values.reshape(mixtures.experts(config), -1, values.shape[-1])


def turned(values: ndarray, config: Config) -> ndarray:
    """values: (experts · width, hidden); returns: (experts, hidden, width)"""
    return by_experts(values, config).swapaxes(1, 2)


def dbrx_keys(writer: GGUFWriter, config: Config) -> None:
    mixtures.mixture_keys(writer, config)
    writer.add_clamp_kqv(float(config.get("clip_qkv") or 0.0))  # 0: nothing is cut


def dbrx_why_not(config: Config) -> str | None:
    if config.get("moe_normalize_expert_weights") != 1:
        return "its moe_normalize_expert_weights is not 1, llama.cpp makes weights sum to one"
    said = config.get("attention_base")
    base = (config.get("rope_parameters") or {}).get("rope_theta") or config.get("rope_theta", BASE)
    if said is not None and float(said) != float(base):
        return (
            f"its attn_config's rope_theta is {said}, and transformers rotates by that of its"
            f" rope_parameters, {base}: say the same in both"
        )
    return own.olmo2_why_not(config)


DBRX = {
    "DbrxForCausalLM": Architecture(
        MODEL_ARCH.DBRX,
        ropes=("default", "linear"),
        centred=True,
        settings=dbrx_settings,
        own_keys={
            "hidden_size": "d_model",
            "num_hidden_layers": "n_layers",
            "num_attention_heads": "n_heads",
            "max_position_embeddings": "max_seq_len",
        },
        stacks=("experts.mlp.w1", "experts.mlp.v1", "experts.mlp.w2"),
        values={
            "experts.mlp.w1": by_experts,
            "experts.mlp.v1": by_experts,
            "experts.mlp.w2": turned,
        },
        write_keys=dbrx_keys,
        why_not=dbrx_why_not,
    ),
}
