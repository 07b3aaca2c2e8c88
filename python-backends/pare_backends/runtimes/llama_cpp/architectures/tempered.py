"""Architectures that multiply queries by more the later they stand: Llama 4's temperature."""

from __future__ import annotations

from typing import Any

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config


def _rope(config: Config) -> dict[str, Any]:
    return dict(config.get("rope_parameters") or config.get("rope_scaling") or {})


def ministral3_keys(writer: GGUFWriter, config: Config) -> None:
    """llama.cpp counts by the length that yarn stretches, as transformers does."""
    writer.add_attn_temperature_scale(float(_rope(config)["llama_4_scaling_beta"]))


def ministral3_why_not(config: Config) -> str | None:
    if _rope(config).get("llama_4_scaling_beta") is None:
        return "its rope_parameters have no llama_4_scaling_beta, without which it is not computed"
    return None


TEMPERED = {
    "Ministral3ForCausalLM": Architecture(
        MODEL_ARCH.MISTRAL3,
        True,
        ropes=("yarn",),
        write_keys=ministral3_keys,
        why_not=ministral3_why_not,
    ),
}
