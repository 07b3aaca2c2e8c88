"""Command A+: Cohere's blocks, of which attention and MLP take the same, with a mixture behind
dense layers; what all tokens take is averaged with it. Its norms subtract a mean or do not."""

from __future__ import annotations

from dataclasses import replace

from gguf import MODEL_ARCH, ExpertGatingFuncType, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.architecture import STRETCHED, Architecture
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import NewerKind
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config

FULL, WINDOW = "full_attention", "sliding_attention"
SHARED = "shared_expert_combination_strategy"
DENSE_PERIOD = "prefix_dense_sliding_window_pattern"
"""Of the dense layers every so-manieth sees all tokens; where all do, they rotate."""


def cohere_settings(config: Config) -> Config:
    count, dense = (
        int(config.get(key) or 0) for key in ("num_hidden_layers", "first_k_dense_replace")
    )
    periods = [config.get(DENSE_PERIOD) or 1] * dense
    periods += [config.get("sliding_window_pattern") or 4] * (count - dense)
    places = [*range(dense), *range(count - dense)]
    kinds = [
        FULL if (i + 1) % period == 0 else WINDOW for i, period in zip(places, periods, strict=True)
    ]
    mlps = list(config.get("mlp_layer_types") or ["dense"] * dense + ["sparse"] * (count - dense))
    width = config.get("intermediate_size")
    found = {
        "layer_types": config.get("layer_types") or kinds,
        "mlp_layer_types": mlps,
        "first_k_dense_replace": mlps.count("dense"),
        "moe_intermediate_size": width,
        "intermediate_size": config.get("prefix_dense_intermediate_size") or width,
    }
    usual = {"logit_scale": 0.0625, "sliding_window": 4096, "num_experts_per_tok": 2}
    return {**usual, "num_experts": 8, **config, **found}


def cohere_keys(writer: GGUFWriter, config: Config) -> None:
    mixtures.mixture_keys(writer, config)
    writer.add_leading_dense_block_count(int(config["first_k_dense_replace"]))
    shared = int(config.get("num_shared_experts") or 0)
    if shared:
        writer.add_expert_shared_count(shared)
        width = shared * int(config["moe_intermediate_size"])
        writer.add_expert_shared_feed_forward_length(width)
    single = config.get("expert_selection_fn") == "sigmoid"
    by = ExpertGatingFuncType.SIGMOID if single else ExpertGatingFuncType.SOFTMAX
    writer.add_expert_gating_func(by)
    # The model takes the softmax of what it has chosen, which is that of all, made to sum to one.
    writer.add_expert_weights_norm(not single or bool(config.get("norm_topk_prob", True)))
    own.cohere2_keys(writer, config)


def cohere_why_not(config: Config) -> str | None:
    if config.get("sliding_window") is None:
        return "it has no sliding_window, llama.cpp's cohere2moe has one"
    if config.get("num_shared_experts") and config.get(SHARED, "average") != "average":
        return f"its {SHARED} is {config[SHARED]}, llama.cpp takes average"
    dense = int(config["first_k_dense_replace"])
    if config.get(DENSE_PERIOD, 1) != 1 and FULL in config["layer_types"][:dense]:
        return f"its {DENSE_PERIOD} is not 1, llama.cpp rotates every dense layer"
    return own.takes(attention_bias=False)(config)


def cohere2_moe(config: Config) -> Architecture:
    centred = config.get("rms_norm_eps") is None
    return BASE if centred else replace(BASE, centred=False, norm_key="rms_norm_eps")


BASE = Architecture(
    NewerKind("cohere2moe", MODEL_ARCH.DOTS1),
    ropes=STRETCHED,
    norm_key="layer_norm_eps",
    centred=True,
    settings=cohere_settings,
    own_windows=True,
    write_keys=cohere_keys,
    why_not=own.first_of(cohere_why_not, mixtures.dense_first),
)
COHERE2_MOE = {"Cohere2MoeForCausalLM": replace(BASE, variant=cohere2_moe)}
