"""Hunyuan 3: norms of heads, a mixture behind dense layers whose experts are weighed each by
itself, and one that all tokens take."""

from __future__ import annotations

from gguf import MODEL_ARCH, MODEL_TENSOR, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import STRETCHED, Architecture
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import NewerKind
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

BASE = 11_158_840.0
"""Of positions, where a config does not say."""
SCALE = 2.826
"""Of a token's experts, where a config does not say."""


def hy_settings(config: Config) -> Config:
    usual = {"rope_theta": BASE, "routed_scaling_factor": SCALE, "n_shared_experts": 1}
    return {**usual, **config}


def hy_keys(writer: GGUFWriter, config: Config) -> None:
    """transformers makes the weights of a token's experts sum to one, whatever the config says."""
    shared = int(config["n_shared_experts"]) * int(config["moe_intermediate_size"])
    own_words = {"norm_topk_prob": True, "shared_expert_intermediate_size": shared}
    mixtures.sigmoid_keys(writer, {**config, **own_words})


def hy_why_not(config: Config) -> str | None:
    if not config["n_shared_experts"]:
        return "it has no num_shared_experts, llama.cpp takes some"
    return own.takes(attention_bias=False, mlp_bias=False)(config)


HY_V3 = {
    "HYV3ForCausalLM": Architecture(
        NewerKind("hy_v3", MODEL_ARCH.DOTS1, {"mlp.router_bias": MODEL_TENSOR.FFN_EXP_PROBS_B}),
        ropes=STRETCHED,
        settings=hy_settings,
        own_keys={
            "n_shared_experts": "num_shared_experts",
            "routed_scaling_factor": "router_scaling_factor",
        },
        # The name in the file ends there: the usual one of such a bias has a word more.
        renamed={".mlp.expert_bias": ".mlp.router_bias", ".mlp.router.gate.": ".mlp.gate."},
        write_keys=hy_keys,
        why_not=hy_why_not,
    ),
}
