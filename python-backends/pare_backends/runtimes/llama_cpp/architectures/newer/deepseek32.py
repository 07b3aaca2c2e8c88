"""DeepSeek V3.2: the third one, whose every layer attends to the tokens that an indexer finds."""

from __future__ import annotations

from dataclasses import replace

from gguf import MODEL_ARCH

from pare_backends.runtimes.llama_cpp.architectures import latent
from pare_backends.runtimes.llama_cpp.architectures.architecture import Architecture
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import NewerKind
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

BASE = replace(
    latent.GLM_DSA,
    kind=NewerKind("deepseek32", MODEL_ARCH.GLM_DSA),
    ropes=("default", "yarn"),
    scales_queries=True,
    write_keys=latent.indexer_keys,
)


def deepseek32(config: Config) -> Architecture:
    return latent.with_halves(BASE, config, 128)


DEEPSEEK32 = {"DeepseekV32ForCausalLM": replace(BASE, variant=deepseek32)}
