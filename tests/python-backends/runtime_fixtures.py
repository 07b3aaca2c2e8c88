"""What the runtime tests share: a small random Llama, artifacts of it, and its exported graph."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pare_backends
from pare_backends.calls import prove_runtime
from pare_backends.checkpoint import GridTensor, read, write
from pare_backends.checkpoint.adapter import Adapter
from pare_backends.progress import silent_report
from pare_backends.runtimes.logits import AskedLogits
from pare_backends.runtimes.registry import compute_logits

EXPORTER = "PARE_ENV_OPENVINO_EXPORT"


@functools.cache
def folder() -> Path:
    """A folder that lives as long as the tests."""
    held = tempfile.TemporaryDirectory(prefix="pare-runtimes-")
    atexit.register(held.cleanup)
    return Path(held.name)


@functools.cache
def random_llama(seed: int) -> Path:
    """A Llama checkpoint of random weights, whose norms are not 1; float32, tied embedding."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=320,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=True,
    )
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(1.0, 0.1) if parameter.dim() == 1 else parameter.normal_(0.0, 0.08)
    directory = folder() / f"llama-{seed}"
    model.save_pretrained(directory)
    return directory


HALF_ROTATED = {"rope_type": "default", "rope_theta": 5e3, "partial_rotary_factor": 0.5}
OTHERWISE: dict[str, dict[str, Any]] = {
    # Wider than their share of a token: 128, which transformers' GGUF reader takes.
    "Qwen3ForCausalLM": {"head_dim": 128},
    "GraniteForCausalLM": {
        "attention_multiplier": 0.3, "embedding_multiplier": 2.5, "residual_multiplier": 0.7,
        "logits_scaling": 1.5, "attention_bias": True,
    },
    "Gemma2ForCausalLM": {
        "num_hidden_layers": 3, "sliding_window": 8, "query_pre_attn_scalar": 16,
        # transformers leaves the first out where attention is sdpa: 20 is hardly reached here.
        "attn_logit_softcapping": 20.0, "final_logit_softcapping": 4.0,
        "tie_word_embeddings": True,
    },
    "Gemma3ForCausalLM": {
        "num_hidden_layers": 7, "sliding_window": 8, "query_pre_attn_scalar": 16,
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e4},
            "sliding_attention": {"rope_type": "default", "rope_theta": 2e3},
        },
    },
    "SmolLM3ForCausalLM": {"num_hidden_layers": 5, "pad_token_id": 0},
    "Phi3ForCausalLM": {
        "pad_token_id": 0, "sliding_window": 256, "original_max_position_embeddings": 32,
        "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 1e4, "partial_rotary_factor": 0.5,
            "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 5.0, 8.0],
            "original_max_position_embeddings": 32,
        },
    },
    "GemmaForCausalLM": {"hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": True},
    "GPT2LMHeadModel": {
        "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256, "tie_word_embeddings": True,
        "num_key_value_heads": 4,
    },
    "GPTNeoXForCausalLM": {
        "use_parallel_residual": False, "hidden_act": "gelu_new", "num_key_value_heads": 4,
        "rope_parameters": HALF_ROTATED,
    },
    "Starcoder2ForCausalLM": {"use_bias": True},
    "StableLmForCausalLM": {
        "use_qkv_bias": True, "use_parallel_residual": False,
        "rope_parameters": HALF_ROTATED,
    },
    "PhiForCausalLM": {"rope_parameters": HALF_ROTATED},
    "CohereForCausalLM": {"tie_word_embeddings": True, "logit_scale": 0.25},
    "BloomForCausalLM": {
        "n_layer": 2, "n_head": 4, "num_key_value_heads": 4, "tie_word_embeddings": True,
        "intermediate_size": 256,
    },
    "NemotronForCausalLM": {"rope_parameters": HALF_ROTATED},
    "SeedOssForCausalLM": {
        "attention_bias": True,
        "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
            "original_max_position_embeddings": 64, "beta_fast": 16.0,
        },
    },
    "OlmoForCausalLM": {"pad_token_id": 0, "clip_qkv": 2.0},
    "MixtralForCausalLM": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "Qwen2MoeForCausalLM": {
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "shared_expert_intermediate_size": 96,
    },
    "Qwen3MoeForCausalLM": {
        "num_experts": 4, "num_experts_per_tok": 3, "moe_intermediate_size": 64,
        "norm_topk_prob": True,
    },
    "OlmoeForCausalLM": {
        "num_experts": 4, "num_experts_per_tok": 2, "pad_token_id": 0, "num_key_value_heads": 4,
    },
    "Olmo3ForCausalLM": {
        "num_hidden_layers": 5, "sliding_window": 8, "pad_token_id": 0,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 2e3},
            "full_attention": {
                "rope_type": "yarn", "factor": 8.0, "rope_theta": 2e3,
                "original_max_position_embeddings": 32, "attention_factor": 1.3,
            },
        },
    },
    "Cohere2ForCausalLM": {
        "num_hidden_layers": 5, "sliding_window": 8, "logit_scale": 0.25, "pad_token_id": 0,
        "tie_word_embeddings": True,
    },
    "GlmForCausalLM": {"attention_bias": True, "pad_token_id": 0},
    "Glm4ForCausalLM": {"attention_bias": True, "pad_token_id": 0, "head_dim": 32},
    "Exaone4ForCausalLM": {
        "layer_types": ["full_attention"] * 2,
        "rope_parameters": {
            "rope_type": "llama3", "rope_theta": 1e4, "factor": 16.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
        },
    },
    "HunYuanDenseV1ForCausalLM": {
        "pad_token_id": 0,
        "rope_parameters": {
            "rope_type": "dynamic", "rope_theta": 1e4, "alpha": 1000.0, "factor": 1.0,
        },
    },
    "GPTBigCodeForCausalLM": {
        "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256, "tie_word_embeddings": True,
        "num_key_value_heads": 1,
    },
    "Lfm2ForCausalLM": {
        "layer_types": ["conv", "full_attention", "conv"], "num_hidden_layers": 3,
        "block_multiple_of": 32, "pad_token_id": 0, "tie_word_embeddings": True,
    },
    "Glm4MoeForCausalLM": {
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "n_shared_experts": 2, "routed_scaling_factor": 1.7, "use_qk_norm": True,
        "attention_bias": True, "pad_token_id": 0, "first_k_dense_replace": 1,
    },
    "Ernie4_5_MoeForCausalLM": {
        "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 64,
        "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "pad_token_id": 0,
    },
    "Lfm2MoeForCausalLM": {
        "layer_types": ["conv", "full_attention", "conv"], "num_hidden_layers": 3,
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "num_dense_layers": 1, "pad_token_id": 0, "tie_word_embeddings": True,
    },
    "HunYuanMoEV1ForCausalLM": {"num_experts": 4, "moe_topk": [2, 2], "pad_token_id": 0},
    "Dots1ForCausalLM": {
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "n_shared_experts": 1, "routed_scaling_factor": 2.5, "norm_topk_prob": False,
        "first_k_dense_replace": 1, "num_key_value_heads": 4, "pad_token_id": 0, "n_group": 1,
        "topk_group": 1,
    },
    "MiniMaxM2ForCausalLM": {
        "num_local_experts": 4, "num_experts_per_tok": 2, "pad_token_id": 0,
        "rope_parameters": HALF_ROTATED,
    },
    "GraniteMoeForCausalLM": {
        "num_local_experts": 4, "num_experts_per_tok": 2, "attention_multiplier": 0.3,
        "embedding_multiplier": 2.5, "residual_multiplier": 0.7, "logits_scaling": 1.5,
    },
    "GraniteMoeSharedForCausalLM": {
        "num_local_experts": 4, "attention_multiplier": 0.3, "shared_intermediate_size": 128,
    },
    "GptOssForCausalLM": {
        "num_hidden_layers": 3, "sliding_window": 8, "num_local_experts": 4,
        "num_experts_per_tok": 2, "pad_token_id": 0,
        "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 15e4, "factor": 32.0, "beta_fast": 32.0,
            "beta_slow": 1.0, "truncate": True, "original_max_position_embeddings": 64,
        },
    },
    "FalconForCausalLM": {
        "new_decoder_architecture": True, "num_kv_heads": 2, "ffn_hidden_size": 96,
        "activation": "gelu_new",
    },
    "Jais2ForCausalLM": {"pad_token_id": 0},
    "ApertusForCausalLM": {
        "rope_parameters": {
            "rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
        },
    },
}  # fmt: skip
"""What these have that no other architecture has, and no default leaves idle."""


PACKED = (
    "_proj.weight", ".w1.weight", ".w2.weight", ".w3.weight", ".dense.weight", ".fc1.weight",
    ".fc2.weight", "query_key_value.weight", "_4h.weight", "_to_h.weight", "c_fc.weight",
    ".dense_4h_to_h.weight", "shared_mlp.input_linear.weight",
)  # fmt: skip
"""Endings of linear layers, but for GPT-2's c_attn: floats that lie turned."""


@functools.cache
def four_bit_model(architecture: str) -> Path:
    """A 4-bit artifact of random weights, norms and biases, whose head is not the embedding but
    where the architecture has it so."""
    import torch
    import transformers

    own = re.sub("ForCausalLM|LMHeadModel", "Config", architecture)
    asked: dict[str, Any] = {
        "vocab_size": 320, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "max_position_embeddings": 256, "tie_word_embeddings": False, "sliding_window": None,
    }  # fmt: skip
    asked |= OTHERWISE.get(architecture, {})
    if own == "FalconConfig":
        del asked["head_dim"]  # which it computes
    config = getattr(transformers, {"Gemma3Config": "Gemma3TextConfig"}.get(own, own))(**asked)
    torch.manual_seed(1)
    model = getattr(transformers, architecture)(config)
    middle = 0.0 if architecture.startswith("Gemma") else 1.0  # they add one
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(middle, 0.1) if "norm" in name else parameter.normal_(0.0, 0.08)
        for name, buffer in model.named_buffers():
            if name.endswith("_bias"):  # by which experts are chosen
                buffer.normal_(0.0, 0.2)
    model.save_pretrained(folder() / f"{architecture}-floats")
    checkpoint = read(folder() / f"{architecture}-floats")
    made = {}
    for name in [name for name in checkpoint.floats if name.endswith(PACKED)]:
        turned = architecture == "GPT2LMHeadModel"
        weight = checkpoint.floats[name].T if turned else checkpoint.floats[name]
        tensor = replace(rounded(weight, 4, 32, True), transposed=turned)
        made[name.removesuffix(".weight")] = tensor
    write(checkpoint.with_stored(made), folder() / architecture)
    return folder() / architecture


def exporter() -> str:
    """The interpreter that exports graphs; skips where there is none."""
    python = os.environ.get(EXPORTER)
    if not python:
        pytest.skip(f"{EXPORTER} names no interpreter with optimum-intel")
    return python


@functools.cache
def exported_graph() -> Path:
    """The graph of `random_llama`, exported by a real worker from another model's directory."""
    python = exporter()
    output = folder() / "graph"
    events = run_worker(
        python,
        {
            "call": "make_form",
            "runtime": "openvino",
            "artifact_dir": str(random_llama(7)),
            "output_dir": str(output),
            "exact": False,
        },
    )
    assert events[-1]["event"] == "result", events[-1]
    return output


def graph_proof(directory: Path, graph: Path, seed: int = 0) -> dict[str, Any]:
    """What the proof says of openvino, computed in this process."""
    asked = AskedLogits(str(directory), str(graph), str(graph), 48, seed)
    with tempfile.TemporaryDirectory() as kept:
        path = str(Path(kept) / "logits.npz")
        compute_logits("openvino", asked, 2).save(path)
        request = prove_runtime.Request("openvino", str(directory), path)
        return prove_runtime.run(request, silent_report(2))


def run_worker(python: str, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one call in a process of its own. One thread: llama.cpp's spin for each other,
    which takes a hundred times as long where something else computes too."""
    request = {"protocol": 1, "request_id": "r", "threads": 1, "request": asked}
    done = subprocess.run(
        [python, "-m", "pare_backends.worker"],
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
        check=True,
        env=worker_environment(),
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def worker_environment() -> dict[str, str]:
    """Variables with which another interpreter finds this very package, offline."""
    root = str(Path(pare_backends.__file__).parent.parent)
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": root}


def rounded(
    weight: np.ndarray,
    bits: int,
    group: int,
    symmetric: bool,
    input_group: int | None = None,
) -> GridTensor:
    """A matrix rounded to the nearest integers, by rows or groups; where `input_group` is given,
    its inputs are to be rounded to 8 bits. weight: (o, i) float32"""
    rows, columns = weight.shape
    grouped = weight.reshape(rows, -1, columns if group == -1 else group)
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if symmetric:
        scales = np.abs(grouped).max(axis=2) / high
    else:
        scales = (grouped.max(axis=2) - grouped.min(axis=2)) / (high - low)
    scales = scales.astype(np.float16).astype(np.float32)
    zeros = None if symmetric else np.clip(np.round(low - grouped.min(axis=2) / scales), low, high)
    shift = 0 if zeros is None else zeros[:, :, None]
    ints = np.clip(np.round(grouped / scales[:, :, None]) + shift, low, high).astype(np.int8)
    points = None if zeros is None else zeros.astype(np.int8)
    input_bits, features = (None, -1) if input_group is None else (8, input_group)
    ints = ints.reshape(rows, columns)
    return GridTensor(ints, scales, points, bits, group, input_bits, features)


@functools.cache
def artifact(
    bits: int,
    group: int,
    symmetric: bool,
    embedding_bits: int | None = None,
    input_group: int | None = None,
) -> Path:
    """An artifact of `random_llama(0)`; the embedding by rows where it is quantized too."""
    checkpoint = read(random_llama(0))
    made = {
        name.removesuffix(".weight"): rounded(
            checkpoint.floats[name], bits, group, symmetric, input_group
        )
        for name in checkpoint.floats
        if name.endswith(("_proj.weight", ".w1.weight", ".w2.weight", ".w3.weight"))
    }
    if embedding_bits is not None:
        embedding = checkpoint.floats["model.embed_tokens.weight"]
        made["model.embed_tokens"] = rounded(embedding, embedding_bits, -1, symmetric)
    names = (bits, group, symmetric, embedding_bits, input_group)
    directory = folder() / "-".join(str(name) for name in names)
    write(checkpoint.with_stored(made), directory)
    return directory


def adapted(parent: Path, out: Path) -> Path:
    """A random adapter of rank 4 beside the weights of two layers."""
    names = ["model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj"]
    checkpoint = read(parent)
    draw = np.random.default_rng(5)
    tensors = {}
    for name in names:
        rows, columns = checkpoint.shape(name)
        for half, shape in (("A", (4, columns)), ("B", (rows, 4))):
            tensors[f"base_model.model.{name}.lora_{half}.weight"] = draw.normal(
                0, 0.2, shape
            ).astype(np.float16)
    config = {"peft_type": "LORA", "r": 4, "lora_alpha": 8}
    write(replace(checkpoint, adapter=Adapter(config, tensors)), out)
    return out
