"""Kimi Linear: layers that hold a state, whose decay differs by feature, beside ones whose keys and
values come out of a vector that knows no position (DeepSeek's MLA); a mixture behind dense layers.

llama.cpp's graph of it keeps that vector alone and multiplies queries by the matrix that would make
keys of it, which the file has turned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gguf import MODEL_ARCH, GGUFWriter
from numpy import ndarray

from pare_backends.runtimes.llama_cpp.architectures import latent, mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture, HeadWidths
from pare_backends.runtimes.llama_cpp.architectures.linear_attention import decay
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config
from pare_backends.runtimes.llama_cpp.architectures.parts import LatentParts

FULL, STATE = "full_attention", "linear_attention"
FULL_PERIOD = 4
"""Layers 4, 8, … counted from zero attend where a config does not say, as transformers has it."""
SCALE = 2.446
"""Of a token's experts, where a config does not say."""
EPSILON, VECTOR_EPSILON = 1e-5, 1e-6
"""Of norms where a config does not say, and of the one of the vector, whatever it says."""
NOTE = (
    "llama.cpp adds {:g} to the mean square of the vector that keys and values come out of, the"
    " model {:g}"
)
MLP = ("gate_proj", "up_proj", "down_proj")


def kimi_settings(config: Config) -> Config:
    """The hub's configs say what of layers that hold a state in an object inside, and count layers
    from one."""
    inner: Mapping[str, Any] = config.get("linear_attn_config") or {}
    count = int(config.get("num_hidden_layers") or 0)
    said = config.get("first_k_dense_replace")
    dense = 1 if said is None else int(said)
    usual = [FULL if i and i % FULL_PERIOD == 0 else STATE for i in range(count)]
    if "full_attn_layers" in inner and "kda_layers" in inner:
        usual = [FULL if i + 1 in inner["full_attn_layers"] else STATE for i in range(count)]
    mlps = [("dense" if i < dense else "sparse") for i in range(count)]
    found = {
        "linear_head_dim": inner.get("head_dim", config.get("linear_head_dim", 128)),
        "linear_num_heads": inner.get("num_heads", config.get("linear_num_heads", 32)),
        "linear_conv_kernel_dim": inner.get(
            "short_conv_kernel_size", config.get("linear_conv_kernel_dim", 4)
        ),
        "layer_types": config.get("layer_types") or usual,
        "mlp_layer_types": config.get("mlp_layer_types") or mlps,
    }
    found["first_k_dense_replace"] = list(found["mlp_layer_types"]).count("dense")
    return {"routed_scaling_factor": SCALE, "n_shared_experts": 1, **config, **found}


def kimi_widths(config: Config) -> HeadWidths:
    """Of the one head of keys that is kept: a vector, and what of it no value has."""
    rank, shared = int(config["kv_lora_rank"]), int(config["qk_rope_head_dim"])
    return HeadWidths(rank + shared, rank, shared)


def heads_of_keys(config: Config) -> list[int]:
    return [int(kind == FULL) for kind in config["layer_types"]]


def kimi_keys(writer: GGUFWriter, config: Config) -> None:
    latent.sigmoid_keys(writer, config)
    whole = latent.latent_widths(config)
    writer.add_key_length_mla(whole.key)
    writer.add_value_length_mla(whole.value)
    writer.add_rope_dimension_count(whole.rotated)  # not rotated: its place in a head is told so
    writer.add_kda_head_dim(int(config["linear_head_dim"]))
    writer.add_ssm_conv_kernel(int(config["linear_conv_kernel_dim"]))


def kimi_why_not(config: Config) -> str | None:
    heads, others = int(config["num_attention_heads"]), int(config["linear_num_heads"])
    if heads != others:
        return f"its linear_num_heads is {others}, llama.cpp takes its {heads} num_attention_heads"
    if config.get("q_lora_rank"):
        return "it has a q_lora_rank, llama.cpp takes queries out of a token itself"
    if not config["n_shared_experts"]:
        return "it has no num_shared_experts, llama.cpp takes some"
    if not {FULL, STATE} <= set(config["layer_types"]):
        return "its layers all attend or all hold a state, llama.cpp takes both kinds"
    return own.takes(attention_bias=False, moe_renormalize=True, norm_topk_prob=True)(config)


def kimi_note(config: Config) -> str | None:
    """transformers' norm of the vector has an epsilon of its own, llama.cpp's that of all norms."""
    epsilon = float(config.get("rms_norm_eps", EPSILON))
    return None if epsilon == VECTOR_EPSILON else NOTE.format(epsilon, VECTOR_EPSILON)


def convolved(values: ndarray, config: Config) -> ndarray:
    """values: (features, taps); returns: (features, 1, taps)"""
    return values[:, None]


BASE = Architecture(
    MODEL_ARCH.KIMI_LINEAR,
    ropes=(),
    settings=kimi_settings,
    own_keys={
        "num_experts_per_tok": "num_experts_per_token",
        "norm_topk_prob": "moe_renormalize",
        "n_group": "num_expert_group",
        "n_shared_experts": "num_shared_experts",
        "max_position_embeddings": "model_max_length",
    },
    # transformers writes a dense layer's matrices so, the hub's file has the usual names.
    renamed={f".block_sparse_moe.{one}": f".mlp.{one}" for one in MLP},
    values={".A_log": decay} | {f".{one}_conv1d.weight": convolved for one in "qkv"},
    head_widths=kimi_widths,
    layer_kv_heads=heads_of_keys,
    write_keys=kimi_keys,
    note=kimi_note,
    why_not=own.first_of(
        kimi_why_not, mixtures.a_key_for_each_head, mixtures.dense_first, own.olmo2_why_not
    ),
)


def kimi(config: Config) -> Architecture:
    heads, width = int(config.get("num_attention_heads") or 1), config.get("qk_nope_head_dim", 128)
    return replace(BASE, parts={"kv_b_proj.weight": LatentParts(heads=heads, width=int(width))})


KIMI = {"KimiLinearForCausalLM": replace(BASE, variant=kimi)}
