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
from architecture_configs import OTHERWISE
from architecture_variants import VARIANTS

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


PACKED = (
    "_proj.weight", "_with_mqa.weight", ".w1.weight", ".w2.weight", ".w3.weight", ".dense.weight",
    ".fc1.weight", ".fc2.weight", "query_key_value.weight", "_4h.weight", "_to_h.weight",
    "c_fc.weight", ".dense_4h_to_h.weight", "shared_mlp.input_linear.weight",
    "per_layer_input_gate.weight", "_projection.weight", "linear_left.weight",
    "linear_right.weight", *(f"_projections.{stream}.weight" for stream in range(3)),
)  # fmt: skip
"""Endings of linear layers, but for GPT-2's c_attn: floats that lie turned."""


def is_packed(tensor: str) -> bool:
    return tensor.endswith(PACKED) and "mixer.dt_proj" not in tensor  # which is no layer there


OF_TEXT = ("Gemma3", "Gemma4", "Llama4", "Qwen3_5")
ADD_ONE = ("Gemma", "Qwen3Next", "Qwen3_5")
"""Whose norms multiply by one more than they store."""


@functools.cache
def four_bit_model(architecture: str, variant: str = "") -> Path:
    """A 4-bit artifact of random weights, norms and biases, whose head is not the embedding but
    where the architecture has it so. variant: one of `VARIANTS` of the architecture"""
    import torch
    import transformers

    own = re.sub("ForCausalLM|LMHeadModel", "Config", architecture)
    asked: dict[str, Any] = {
        "vocab_size": 320, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "max_position_embeddings": 256, "tie_word_embeddings": False, "sliding_window": None,
    }  # fmt: skip
    asked |= OTHERWISE.get(architecture, {})
    asked |= VARIANTS[architecture][variant] if variant else {}
    if own == "FalconConfig":
        del asked["head_dim"]  # which it computes
    if "Mamba" in own:  # it has none
        del asked["num_attention_heads"], asked["num_key_value_heads"]
    if own.startswith(OF_TEXT):  # others hold pictures too
        own = own.replace("Config", "TextConfig")
    config = getattr(transformers, own)(**asked)
    torch.manual_seed(1)
    model = getattr(transformers, architecture)(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            added = architecture.startswith(ADD_ONE) and "linear_attn.norm" not in name
            fourth = architecture.startswith(("Gemma3n", "Gemma4"))
            middle = 0.0 if added and not fourth else 1.0
            if fourth and name.endswith(("q_norm.weight", "k_norm.weight")):
                middle = 0.5  # its attention is scaled by nothing else
            if architecture.startswith("Gemma3n") and ".post_" in name:
                middle = 0.3  # of 22 layers: a difference in one would grow in all that follow
            scales = "norm" in name or name.endswith("scale")
            parameter.normal_(middle, 0.1) if scales else parameter.normal_(0.0, 0.08)
            if name.endswith("modality_router.weight"):
                parameter.mul_(64)  # what it is given is divided by the width
        for name, buffer in model.named_buffers():
            if name.endswith("_bias"):  # by which experts are chosen
                buffer.normal_(0.0, 0.2)
            if name.endswith("layer_scalar"):
                buffer.normal_(1.0, 0.2)
    output = folder() / f"{architecture}{variant}"
    model.save_pretrained(output.with_name(f"{output.name}-floats"))
    checkpoint = read(output.with_name(f"{output.name}-floats"))
    made = {}
    for name in [name for name in checkpoint.floats if is_packed(name)]:
        turned = architecture == "GPT2LMHeadModel"
        weight = checkpoint.floats[name].T if turned else checkpoint.floats[name]
        tensor = replace(rounded(weight, 4, 32, True), transposed=turned)
        made[name.removesuffix(".weight")] = tensor
    write(checkpoint.with_stored(made), output)
    return output


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
