"""Compression by llm-compressor and auto-round: the first half of bare_study.py.

Letters: o rows, i columns, g groups a row, w windows, t tokens.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bare_runtime import Packed


def calibration(request: dict[str, Any], tokenizer: Any, windows: int, tokens: int) -> Any:
    """Windows cut from the calibration text. returns: (w, t) int64 torch"""
    import torch

    lines = Path(request["calibration_text"]).read_text().splitlines()
    text = "\n\n".join(json.loads(line)["text"] for line in lines)
    ids = tokenizer(text, return_tensors="pt").input_ids[0]
    count = min(windows, len(ids) // tokens)
    return torch.stack([ids[n * tokens : (n + 1) * tokens] for n in range(count)])


def scheme(targets: list[str], params: dict[str, Any], activations: bool = False) -> dict[str, Any]:
    """A compressed-tensors scheme of the knobs that pare's recipes have."""
    group = int(params.get("group_size", -1))
    weights = {
        "num_bits": int(params.get("bits", 8)),
        "type": "int",
        "symmetric": bool(params.get("symmetric", True)),
        "strategy": "channel" if group == -1 else "group",
        "group_size": None if group == -1 else group,
    }
    if params.get("clip"):
        weights["observer"] = "memoryless_mse"
    features = int(params.get("activation_group_size", -1))
    inputs = {
        "num_bits": 8,
        "type": "int",
        "symmetric": True,
        "strategy": "token" if features == -1 else "group",
        "group_size": None if features == -1 else features,
        "dynamic": True,
    }
    return {
        "targets": targets,
        "weights": weights,
        **({"input_activations": inputs} if activations else {}),
    }


def linear_names(model: Any) -> list[str]:
    """The linear layers of the decoder's blocks."""
    import torch

    found = [n for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)]
    return [name for name in found if name != "lm_head"]


def embedding_name(model: Any) -> str:
    """The input embedding's module name."""
    wanted = model.get_input_embeddings()
    return next(name for name, module in model.named_modules() if module is wanted)


def by_llmcompressor(
    model: Any, tokenizer: Any, method: str, params: dict[str, Any], request: dict[str, Any]
) -> list[str]:
    """`oneshot` with the recipe's modifier; the layers that it worked on."""
    from llmcompressor import oneshot
    from llmcompressor.modifiers.gptq import GPTQModifier
    from llmcompressor.modifiers.quantization import QuantizationModifier

    part = params.get("targets", "linear")
    linear = [] if part == "embedding" else linear_names(model)
    layers = [*linear, *([] if part == "linear" else [embedding_name(model)])]
    if method != "gptq":
        groups = {
            f"group_{number}": scheme(targets, params, activations)
            for number, (targets, activations) in enumerate(
                [(linear, method == "int8"), (layers[len(linear) :], False)]  # tokens are no floats
            )
            if targets
        }
        oneshot(model=model, recipe=QuantizationModifier(config_groups=groups))
        return layers
    from torch.utils.data import DataLoader

    windows = calibration(request, tokenizer, params["samples"], request["calibration_tokens"])
    recipe = GPTQModifier(
        config_groups={"group_0": scheme(layers, params)},
        dampening_frac=params["dampening"],
        actorder="static" if params["actorder"] == "static" else None,
    )
    rows = [
        {"input_ids": row[None], "attention_mask": row.new_ones(row.shape)[None]} for row in windows
    ]
    oneshot(
        model=model,
        tokenizer=tokenizer,
        recipe=recipe,
        dataset=DataLoader(rows, batch_size=None),
        num_calibration_samples=len(rows),
        shuffle_calibration_samples=False,
    )
    return layers


def by_autoround(
    model: Any, tokenizer: Any, params: dict[str, Any], request: dict[str, Any]
) -> tuple[Any, list[str]]:
    """auto-round's tuning with the recipe's knobs; the model and the layers that it worked on."""
    import torch
    from auto_round import AutoRound
    from torch.utils.data import DataLoader

    seqlen = min(params["seqlen"], request["calibration_tokens"])
    windows = calibration(request, tokenizer, params["samples"], seqlen)
    rows = [{"input_ids": row, "attention_mask": torch.ones_like(row)} for row in windows]
    batch = min(4, len(rows))
    compressor = AutoRound(
        model,
        tokenizer=tokenizer,
        scheme="W4A16",
        bits=params["bits"],
        group_size=params["group_size"],
        sym=params["symmetric"],
        iters=params["iters"],
        lr=params.get("lr"),
        nsamples=len(rows),
        seqlen=seqlen,
        batch_size=batch,
        dataset=DataLoader(rows, batch_size=batch),
        device_map="cpu",
        amp=False,
        enable_torch_compile=False,
        low_cpu_mem_usage=False,
        seed=request["seed"],
    )
    tuned, _ = compressor.quantize()
    return tuned, linear_names(tuned)


def read_packed(module: Any, params: dict[str, Any], activations: bool) -> Packed:
    """A layer's integers and scales; the module computes with their product from here on."""
    import torch
    from compressed_tensors.quantization import QuantizationStatus
    from compressed_tensors.quantization.lifecycle.forward import dequantize, quantize

    bits, symmetric = int(params.get("bits", 8)), bool(params.get("symmetric", True))
    if hasattr(module, "weight_scale"):
        args = module.quantization_scheme.weights
        scale, zero = module.weight_scale.data, module.weight_zero_point.data
        ints = quantize(module.weight.data, scale, zero, args, dtype=torch.int8)
        module.weight.data = dequantize(ints, scale, zero, args, dtype=torch.float32)
        module.quantization_status = QuantizationStatus.COMPRESSED  # not rounded again each time
        zeros = zero.float().numpy()
    else:
        rows = module.weight.shape[0]
        scale = module.scale.detach().float().reshape(rows, -1)
        zeros = torch.as_tensor(0.0 if symmetric else module.zp).float() - 2 ** (bits - 1)
        zeros = (torch.zeros_like(scale) + (0.0 if symmetric else zeros)).reshape(rows, -1)
        grouped = module.weight.data.float().reshape(rows, scale.shape[1], -1)
        ints = (grouped / scale[:, :, None] + zeros[:, :, None]).round().reshape(rows, -1).char()
        zeros = zeros.numpy()
    return Packed(
        ints.numpy(),
        scale.float().numpy().reshape(ints.shape[0], -1),
        None if symmetric else zeros.reshape(ints.shape[0], -1),
        bits,
        activations,
    )
