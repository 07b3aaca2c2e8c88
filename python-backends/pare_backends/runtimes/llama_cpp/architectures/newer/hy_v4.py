"""Hunyuan 4: streams of a text beside each other, of which each half of a layer takes a sum and
gives to each a share of what it makes; GLM 5's attention, whose heads have a sink and whose output
a gate; a mixture whose experts lie in one tensor and whose products are cut off.

llama.cpp rotates neighbouring features, and its converter leaves rows as they are. transformers
rotates a feature of the first half with one of the second: the file computes as it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from gguf import MODEL_ARCH, MODEL_TENSOR, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import latent
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import NewerKind
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config
from pare_backends.runtimes.llama_cpp.architectures.parts import Parts

USUAL: dict[str, Any] = {
    "hc_mult": 4, "hc_magnitude": 2.0, "hc_eps": 1e-6, "swiglu_limit": 10.0, "index_topk": 2048,
    "index_head_dim": 128, "index_n_heads": 16, "n_shared_experts": 1, "norm_topk_prob": True,
    "routed_scaling_factor": 2.827, "first_k_dense_replace": 1,
}  # fmt: skip
"""transformers' own, where a config does not say."""
PERIOD = 4
"""Layers 0, 1, 5, 9, … have an indexer, where a config does not say."""
PARTS = ("fn", "base", "scale")


def hy_settings(config: Config) -> Config:
    count = int(config.get("num_hidden_layers") or 0)
    shared = latent.TAKES[0]
    usual = ["finds" if i == 0 or (i - 1) % PERIOD == 0 else shared for i in range(count)]
    kinds = config.get("indexer_types") or usual
    return latent.sparse_settings({**USUAL, **config, "indexer_types": kinds})


def hy_keys(writer: GGUFWriter, config: Config) -> None:
    latent.indexer_keys(writer, config)
    writer.add_array("hy_v4.attention.indexer.types", config["finds"])
    writer.add_uint32("hy_v4.hyper_connection.count", int(config["hc_mult"]))
    writer.add_float32("hy_v4.hyper_connection.epsilon", float(config["hc_eps"]))
    writer.add_float32("hy_v4.hyper_connection.magnitude", float(config["hc_magnitude"]))
    limits = [float(config["swiglu_limit"])] * int(config["num_hidden_layers"])
    writer.add_array("hy_v4.swiglu_clamp_exp", limits)


def hy_why_not(config: Config) -> str | None:
    limit = float(config["swiglu_limit"])
    if limit <= 0:
        return f"its swiglu_limit is {limit:g}, by which the library cuts off all products"
    turned, head = int(config["qk_rope_head_dim"]), int(config["index_head_dim"])
    if head <= turned:
        return f"its index_head_dim is {head}, llama.cpp wants more than the {turned} it rotates"
    if not config["finds"][0]:
        return "its first layer has no indexer, and none is before it"
    return own.takes(attention_bias=False, n_group=1)(config) or own.olmo2_why_not(config)


def neighbours(heads: int, whole: int, turned: int) -> np.ndarray:
    """Rows of heads of which the last features are rotated, in llama.cpp's order."""
    rows = np.arange(heads * whole).reshape(heads, whole)
    kept, rotated = rows[:, : whole - turned], rows[:, whole - turned :]
    pairs = rotated.reshape(heads, 2, -1).swapaxes(1, 2).reshape(heads, -1)
    return np.concatenate([kept, pairs], axis=1).reshape(-1)


def row_orders(config: Config) -> Mapping[str, np.ndarray]:
    turned, head = int(config["qk_rope_head_dim"]), int(config["index_head_dim"])
    whole = int(config["qk_nope_head_dim"]) + turned
    key = neighbours(1, head, turned)
    return {
        "self_attn.q_b_proj.weight": neighbours(int(config["num_attention_heads"]), whole, turned),
        "kv_a_proj_with_mqa.weight": neighbours(1, int(config["kv_lora_rank"]) + turned, turned),
        "indexer.wq_b.weight": neighbours(int(config["index_n_heads"]), head, turned),
        "indexer.wk.weight": key,
        "indexer.k_norm.weight": key,
        "indexer.k_norm.bias": key,
    }


# transformers writes `hc_pre` before a connection's name and `linear_gate` for every gate, the
# hub's files have the one behind it and the other in attention alone.
RENAMED = {
    ".hc_pre.": ".",
    ".linear_gate.": ".gate_proj.",
    ".learnable_sink_param": ".sinks",
    **{f".hc_head.hc_head_{one}": f".hc_head_{one}.weight" for one in PARTS},
    **{f".hc_attn_layer.hc_{one}": f".hc_attn_{one}.weight" for one in PARTS},
    **{f".hc_mlp_layer.hc_{one}": f".hc_ffn_{one}.weight" for one in PARTS},
}
BASE = replace(
    latent.GLM_DSA,
    kind=NewerKind(
        "hy_v4",
        MODEL_ARCH.GLM_DSA,
        {
            "self_attn.gate_proj": MODEL_TENSOR.ATTN_GATE,
            "self_attn.sinks": MODEL_TENSOR.ATTN_SINKS,
            "mlp.experts.down_proj": MODEL_TENSOR.FFN_DOWN_EXP,
            **{
                f"hc_{half}_{one}": f"blk.{{bid}}.hc_{half}_{one}"
                for half in ("attn", "ffn")
                for one in PARTS
            },
        },
        {f"model.hc_head_{one}": f"output_hc_{one}" for one in PARTS},
    ),
    settings=hy_settings,
    stacks=("experts.gate_up_proj", "experts.down_proj"),
    renamed=RENAMED,
    row_orders=row_orders,
    write_keys=hy_keys,
    why_not=own.first_of(hy_why_not, latent.no_experts, latent.mixtures.dense_first),
)


def hy_v4(config: Config) -> Architecture:
    found = latent.with_halves(BASE, config, 192)
    both = Parts(("experts.gate_proj.weight", "experts.up_proj.weight"))
    return replace(found, parts={**found.parts, "experts.gate_up_proj": both})


HY_V4 = {"HYV4ForCausalLM": replace(BASE, variant=hy_v4)}
