"""The work of a finished study in one bare script: plain library calls, no checks, nothing kept.

    python bare_study.py request.json result.json

The peer of `deno task bench`: what a user would write by hand with transformers, llm-compressor,
auto-round, lm-eval and openvino to get the same figures of the same recipes. It imports nothing of
pare. The request (`BareRequest` of bare_request.ts) names model, graph, tasks, rows and recipes.
Letters: o rows, i columns, g groups a row, w windows, t tokens.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bare_evaluation import evaluate
from bare_runtime import Generator, Packed

SECONDS: defaultdict[str, float] = defaultdict(float)


@contextmanager
def timed(phase: str) -> Iterator[None]:
    """Adds the block's seconds to a phase."""
    start = time.perf_counter()
    try:
        yield
    finally:
        SECONDS[phase] += time.perf_counter() - start


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
    inputs = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "token", "dynamic": True}
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
        groups = {"group_0": scheme(layers, params, activations=method == "int8")}
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


def compress(
    request: dict[str, Any], actions: list[dict[str, Any]]
) -> tuple[Any, Any, dict[str, Packed]]:
    """Model, tokenizer and packed layers after the recipe's actions."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with timed("load"):
        tokenizer = AutoTokenizer.from_pretrained(request["model_dir"])
        model = AutoModelForCausalLM.from_pretrained(request["model_dir"], dtype=torch.float32)
        model.eval()
    packed: dict[str, Packed] = {}
    for action in actions:
        method, params = action["method"], action["params"]
        with timed("quantize"):
            if method == "autoround":
                model, layers = by_autoround(model, tokenizer, params, request)
            else:
                layers = by_llmcompressor(model, tokenizer, method, params, request)
        with timed("write"):
            for name in layers:
                if name not in packed:
                    module = model.get_submodule(name)
                    packed[name] = read_packed(module, params, method == "int8")
    if packed:
        with timed("write"):
            write(model, packed)
    return model.eval(), tokenizer, packed


def write(model: Any, packed: dict[str, Packed]) -> None:
    """The compressed checkpoint's weights, packed by compressed-tensors."""
    import torch
    from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
    from safetensors.torch import save_file

    tied = model.config.tie_word_embeddings
    tensors = {
        name: parameter.detach().half().contiguous()
        for name, parameter in model.named_parameters()
        if name.removesuffix(".weight") not in packed and not (tied and name == "lm_head.weight")
    }
    for name, layer in packed.items():
        ints = torch.from_numpy(layer.ints)
        whole = layer.bits == 8
        tensors[f"{name}.weight_packed"] = ints if whole else pack_to_int32(ints, layer.bits)
        tensors[f"{name}.weight_scale"] = torch.from_numpy(layer.scales).half()
        if layer.zeros is not None:
            zeros = torch.from_numpy(layer.zeros.T.copy()).char()
            tensors[f"{name}.weight_zero_point"] = (
                zeros if whole else pack_to_int32(zeros, layer.bits)
            )
    with tempfile.TemporaryDirectory() as folder:
        save_file(tensors, str(Path(folder) / "model.safetensors"))


def import_libraries(request: dict[str, Any]) -> None:
    """What the recipes need, imported once."""
    import torch
    import transformers

    methods = {action["method"] for trial in request["trials"] for action in trial["actions"]}
    assert transformers.AutoModelForCausalLM and transformers.AutoTokenizer
    import lm_eval.models.huggingface

    assert lm_eval.simple_evaluate
    if methods - {"autoround"}:
        import llmcompressor.modifiers.gptq
        import llmcompressor.modifiers.quantization  # noqa: F401
    if "autoround" in methods:
        import auto_round  # noqa: F401
    torch.set_num_threads(request["threads"])


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Seconds by phase, and each trial's figures."""
    started = time.perf_counter()
    with timed("import"):
        import_libraries(request)
    generator = Generator(request, timed) if request["graph_dir"] is not None else None
    trials = []
    for trial in request["trials"]:
        model, tokenizer, packed = compress(request, trial["actions"])
        scores = []
        for rows in trial["evaluations"]:
            with timed("evaluate"):
                scores.append(evaluate(request, rows, model, tokenizer))
        latency = None
        if trial["speed"] and generator is not None:
            latency = generator.latency_ms(model, packed, bool(trial["actions"]))
        trials.append({"trial_id": trial["trial_id"], "scores": scores, "latency_ms": latency})
        print(f"{trial['trial_id']}: {scores} {latency}", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "phases": dict(SECONDS), "trials": trials}


if __name__ == "__main__":
    asked = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps(run(asked)))
