"""Architectures some of whose layers are those of Mamba 2: Granite 4, Bamba and Nemotron-H."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gguf import MODEL_ARCH, GGUFWriter
from numpy import exp, inf, ndarray

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture
from pare_backends.runtimes.llama_cpp.architectures.mixed import GRANITE_MOE
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config
from pare_backends.runtimes.llama_cpp.architectures.parts import Parts

STATES, HEADS = ("mamba", "linear_attention"), "full_attention"
INNER = 2
"""llama.cpp takes a state for so many times as many features as a token has."""


def decay(logarithms: ndarray, config: Config) -> ndarray:
    return -column(exp(logarithms), config)


def column(values: ndarray, config: Config) -> ndarray:
    return values.reshape(-1, 1)


def by_groups(values: ndarray, config: Config) -> ndarray:
    return values.reshape(int(config.get("n_groups") or config.get("mamba_n_groups") or 1), -1)


def of_state(layer: str) -> dict[str, Callable[[ndarray, Config], ndarray]]:
    """What a state's tensors become, by endings. layer: what a block calls it, mamba or mixer"""
    return {".A_log": decay, f"{layer}.D": column, f"{layer}.norm.weight": by_groups}


def has_states(config: Config) -> bool:
    return any(kind in STATES for kind in own.kinds_of_layers(config))


def has_experts(config: Config) -> bool:
    return int(config.get("num_local_experts") or 0) > 0


def shared_width(config: Config) -> int:
    """Without experts what all tokens take is the block's MLP."""
    return (
        own.usual_width(config) if has_experts(config) else int(config["shared_intermediate_size"])
    )


def hybrid_keys(writer: GGUFWriter, config: Config) -> None:
    if has_experts(config):
        mixtures.granite_moe_keys(writer, config)
    else:
        own.granite_keys(writer, config)
    if has_states(config):
        state_keys(writer, config)
        writer.add_rope_scaling_finetuned(config.get("position_embedding_type") == "rope")


def state_keys(writer: GGUFWriter, config: Config) -> None:
    writer.add_ssm_conv_kernel(int(config.get("mamba_d_conv") or 4))
    writer.add_ssm_state_size(int(config["mamba_d_state"]))
    writer.add_ssm_group_count(int(config.get("mamba_n_groups") or 1))
    writer.add_ssm_inner_size(INNER * int(config["hidden_size"]))
    writer.add_ssm_time_step_rank(int(config["mamba_n_heads"]))


def hybrid_why_not(config: Config) -> str | None:
    rotates = config.get("position_embedding_type") == "rope"
    if not rotates and not has_states(config):
        return "its position_embedding_type is not rope and all of its layers attend"
    return state_why_not(config)


def state_why_not(config: Config) -> str | None:
    taken = own.takes(
        mamba_n_groups=1, mamba_expand=INNER, mamba_proj_bias=False, mamba_conv_bias=True
    )
    return steps_why_not(config) or taken(config)


def steps_why_not(config: Config) -> str | None:
    low, high = config.get("time_step_limit") or (0, inf)
    if isinstance(high, dict):  # as transformers writes what JSON has no number for
        high = high.get("__float__")
    if low != 0 or high is None or float(high) != inf:
        return f"its time_step_limit is {low} to {high}, llama.cpp has none"
    return None


def hybrid_variant(config: Config) -> Architecture:
    """By whether it has experts, and layers that hold a state."""
    kinds = MODEL_ARCH.GRANITE_MOE if has_experts(config) else MODEL_ARCH.GRANITE
    found = replace(HYBRID, kind=MODEL_ARCH.GRANITE_HYBRID if has_states(config) else kinds)
    if has_experts(config):
        return found
    parts = {
        "shared_mlp.input_linear.weight": Parts(("mlp.gate_proj.weight", "mlp.up_proj.weight"))
    }
    renamed = {"shared_mlp.output_linear.weight": "mlp.down_proj.weight"}
    return replace(found, parts=parts, renamed=renamed)


HYBRID = replace(
    GRANITE_MOE,
    kind=MODEL_ARCH.GRANITE_HYBRID,
    width=shared_width,
    values=of_state("mamba"),
    write_keys=hybrid_keys,
    why_not=hybrid_why_not,
)


def bamba_settings(config: Config) -> Config:
    """Its config says where it attends: nothing of the kinds of its layers, or that all are
    alike."""
    places = config.get("attn_layer_indices") or []
    count = int(config.get("num_hidden_layers") or 0)
    return {**config, "layer_types": ["mamba" if i not in places else HEADS for i in range(count)]}


BAMBA = Architecture(
    MODEL_ARCH.GRANITE_HYBRID,
    True,
    ropes=("default", "linear", "llama3"),
    rotated=0.5,
    settings=bamba_settings,
    values=HYBRID.values,
    write_keys=state_keys,
    why_not=state_why_not,
)


def one_of_each(config: Config) -> Config:
    """A layer is a mixer of one kind; some configs count them by their kinds alone."""
    return {"num_hidden_layers": len(own.kinds_of_layers(config)), **config}


def mlp_widths(config: Config) -> list[int]:
    wide = {"mlp": config.get("intermediate_size"), "moe": config.get("moe_intermediate_size")}
    return [int(wide.get(kind) or 0) for kind in own.kinds_of_layers(config)]


def nemotron_keys(writer: GGUFWriter, config: Config) -> None:
    heads = int(config["mamba_num_heads"])
    writer.add_layer_norm_eps(float(config.get("layer_norm_epsilon", 1e-5)))
    writer.add_ssm_conv_kernel(int(config.get("conv_kernel") or 4))
    writer.add_ssm_state_size(int(config["ssm_state_size"]))
    writer.add_ssm_group_count(int(config.get("n_groups") or 1))
    writer.add_ssm_inner_size(heads * int(config["mamba_head_dim"]))
    writer.add_ssm_time_step_rank(heads)
    if "moe" not in own.kinds_of_layers(config):
        return
    shared = int(config["moe_shared_expert_intermediate_size"])
    mixtures.sigmoid_keys(writer, {**config, "shared_expert_intermediate_size": shared})


def nemotron_why_not(config: Config) -> str | None:
    kinds = own.kinds_of_layers(config)
    if "moe" in kinds and "mlp" in kinds:
        return "some of its layers are an MLP and some a mixture, llama.cpp takes one of both"
    taken = own.takes(mamba_proj_bias=False, use_bias=False, n_group=1, moe_latent_size=None)
    return steps_why_not(config) or taken(config)


def nemotron_variant(config: Config) -> Architecture:
    mixed = "moe" in own.kinds_of_layers(config)
    kind = MODEL_ARCH.NEMOTRON_H_MOE if mixed else MODEL_ARCH.NEMOTRON_H
    return replace(NEMOTRON, kind=kind)


NEMOTRON = Architecture(
    MODEL_ARCH.NEMOTRON_H,
    ropes=(),
    activations=("relu2",),
    activation_key="mlp_hidden_act",
    norm_key="layer_norm_epsilon",
    own_keys={"num_experts": "n_routed_experts"},
    settings=one_of_each,
    width=mlp_widths,
    renamed={"mixer.experts.": "mlp.experts."},
    values=of_state("mixer"),
    write_keys=nemotron_keys,
    why_not=nemotron_why_not,
)
HYBRIDS = {
    "BambaForCausalLM": BAMBA,
    "GraniteMoeHybridForCausalLM": replace(HYBRID, variant=hybrid_variant),
    "NemotronHForCausalLM": replace(NEMOTRON, variant=nemotron_variant),
}
