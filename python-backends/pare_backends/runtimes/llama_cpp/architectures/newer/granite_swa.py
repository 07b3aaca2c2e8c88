"""Granite Swash: Granite with windows, a sink for each head and layers that may not rotate; dense
or a mixture, whose shared expert llama.cpp has in one matrix with its gate, as the checkpoint."""

from __future__ import annotations

from dataclasses import replace

from gguf import MODEL_ARCH, MODEL_TENSOR, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import ALL_ROPES, Architecture
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import NewerKind
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

FULL, WINDOW = "full_attention", "sliding_attention"
FULL_PERIOD = 4
"""Layers 0, 4, 8, … see all tokens where a config does not say."""
BASE = 10_000.0
PLAIN = {
    "attention_multiplier": 1.0, "embedding_multiplier": 1.0, "residual_multiplier": 1.0,
    "logits_scaling": 1.0, "sliding_window": 128,
}  # fmt: skip
"""transformers' own, where a config does not say."""


def swa_settings(config: Config) -> Config:
    """The base of all layers that rotate: of one that differs by layer `why_not` tells."""
    count = int(config.get("num_hidden_layers") or 0)
    kinds = [WINDOW if i % FULL_PERIOD else FULL for i in range(count)]
    rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    usual = rope.get("rope_theta") or config.get("rope_theta") or BASE
    bases = config.get("layer_rope_theta") or [usual] * count
    rope["rope_theta"] = next((one for one in bases if one), usual)
    said = {"layer_types": config.get("layer_types") or kinds, "layer_rope_theta": bases}
    return {**PLAIN, **config, **said, "rope_parameters": rope}


def swa_keys(writer: GGUFWriter, config: Config) -> None:
    own.granite_keys(writer, config)
    own.window_keys(writer, config)
    rotates = [bool(base) for base in config["layer_rope_theta"]]
    writer.add_array("granite_swa.attention.rope_pattern", rotates)


def swa_moe_keys(writer: GGUFWriter, config: Config) -> None:
    swa_keys(writer, config)
    shared = config.get("shared_intermediate_size") or None
    mixtures.mixture_keys(writer, {**config, "shared_expert_intermediate_size": shared})


def swa_why_not(config: Config) -> str | None:
    if config["sliding_window"] is None:
        return "it has no sliding_window, llama.cpp's granite_swa has one"
    bases = sorted({float(base) for base in config["layer_rope_theta"] if base})
    if len(bases) > 1:
        return f"its layer_rope_theta is {bases[0]:g} and {bases[1]:g}, llama.cpp takes one"
    return None


def swa_moe_why_not(config: Config) -> str | None:
    if mixtures.experts(config) == 0:
        return "it has no num_local_experts, and what all tokens take is no usual MLP"
    return swa_why_not(config)


DENSE = Architecture(
    NewerKind(
        "granite_swa",
        MODEL_ARCH.GRANITE_MOE,
        {
            "self_attn.sinks": MODEL_TENSOR.ATTN_SINKS,
            "mlp.gate_proj": MODEL_TENSOR.FFN_GATE,
            "mlp.up_proj": MODEL_TENSOR.FFN_UP,
            "mlp.down_proj": MODEL_TENSOR.FFN_DOWN,
            "block_sparse_moe.router": MODEL_TENSOR.FFN_GATE_INP,
            "block_sparse_moe.experts.gate_up_proj": MODEL_TENSOR.FFN_GATE_UP_EXP,
            "block_sparse_moe.experts.down_proj": MODEL_TENSOR.FFN_DOWN_EXP,
            "shared_mlp.input_linear": MODEL_TENSOR.FFN_UP_SHEXP,
            "shared_mlp.output_linear": MODEL_TENSOR.FFN_DOWN_SHEXP,
        },
    ),
    True,
    ALL_ROPES,
    settings=swa_settings,
    own_windows=True,
    write_keys=swa_keys,
    why_not=swa_why_not,
)
GRANITE_SWA = {
    "GraniteSWAForCausalLM": DENSE,
    "GraniteMoeSWAForCausalLM": replace(
        DENSE,
        settings=lambda config: swa_settings({"num_experts_per_tok": 2, **config}),
        stacks=("experts.gate_up_proj", "experts.down_proj"),
        write_keys=swa_moe_keys,
        why_not=swa_moe_why_not,
    ),
}
