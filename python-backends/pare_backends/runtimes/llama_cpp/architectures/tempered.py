"""Architectures that multiply queries by more the later they stand: Llama 4 and its temperature."""

from __future__ import annotations

from typing import Any

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config
from pare_backends.runtimes.llama_cpp.architectures.parts import Parts


def _rope(config: Config) -> dict[str, Any]:
    return dict(config.get("rope_parameters") or config.get("rope_scaling") or {})


def ministral3_keys(writer: GGUFWriter, config: Config) -> None:
    """llama.cpp counts by the length that yarn stretches, as transformers does."""
    writer.add_attn_temperature_scale(float(_rope(config)["llama_4_scaling_beta"]))


def ministral3_why_not(config: Config) -> str | None:
    if _rope(config).get("llama_4_scaling_beta") is None:
        return "its rope_parameters have no llama_4_scaling_beta, without which it is not computed"
    return None


CHUNK = 8192
"""Tokens of a chunk that layers which rotate attend to, and of a step of the temperature."""
UNNORMED = 128
"""llama.cpp norms queries and keys but where there are so many experts, as in Maverick."""


def llama4_settings(config: Config) -> Config:
    """It calls the width of its experts the usual one, and that of its dense layers otherwise."""
    dense = config.get("intermediate_size_mlp", 16384)
    step = config.get("interleave_moe_layer_step", 1)
    return {
        **config,
        "intermediate_size": dense,
        "moe_intermediate_size": config.get("intermediate_size", CHUNK),
        "interleave_moe_layer_step": step,
    }


def llama4_keys(writer: GGUFWriter, config: Config) -> None:
    mixtures.mixture_keys(writer, config)
    writer.add_interleave_moe_layer_step(int(config["interleave_moe_layer_step"]))


def llama4_layers(config: Config) -> str | None:
    """That every so-manieth layer is a mixture, and that those which rotate see a chunk alone."""
    count, step = int(config["num_hidden_layers"]), int(config["interleave_moe_layer_step"])
    mixed = config.get("moe_layers")
    if mixed is not None and list(mixed) != list(range(step - 1, count, step)):
        return f"its moe_layers are not every {step}th, as its interleave_moe_layer_step says"
    kinds = config.get("layer_types")
    period = own.NO_ROPE_PERIOD
    usual = ["chunked_attention" if (i + 1) % period else "full_attention" for i in range(count)]
    if kinds and list(kinds) != usual:
        return f"not every {period}th of its layers, and no other, sees all tokens, as in llama.cpp"
    return own.smollm3_why_not(config)


def llama4_why_not(config: Config) -> str | None:
    count = mixtures.experts(config)
    if count == 0:
        return "it has no experts, which llama.cpp's llama4 has"
    taken = own.takes(
        attention_bias=False,
        attention_chunk_size=CHUNK,
        floor_scale=CHUNK,
        attn_scale=0.1,
        attn_temperature_tuning=True,
        use_qk_norm=count != UNNORMED,
    )
    return taken(config) or llama4_layers(config)


TEMPERED = {
    "Llama4ForCausalLM": Architecture(
        MODEL_ARCH.LLAMA4,
        ropes=("default", "linear", "llama3"),
        settings=llama4_settings,
        turned=("experts.gate_up_proj", "experts.down_proj"),
        stacks=("experts.gate_up_proj", "experts.down_proj"),
        parts={
            "experts.gate_up_proj": Parts(("experts.gate_proj.weight", "experts.up_proj.weight"))
        },
        write_keys=llama4_keys,
        why_not=llama4_why_not,
    ),
    "Ministral3ForCausalLM": Architecture(
        MODEL_ARCH.MISTRAL3,
        True,
        ropes=("yarn",),
        write_keys=ministral3_keys,
        why_not=ministral3_why_not,
    ),
}
