"""The work of a finished study in one bare script: plain library calls, no checks, nothing kept.

    python bare_study.py request.json result.json

The peer of `deno task bench`: what a user would write by hand with transformers, llm-compressor,
auto-round, lm-eval and openvino to get the same figures of the same recipes. It imports nothing of
pare. The request (`BareRequest` of bare_request.ts) names model, graph, tasks, rows and recipes.
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
from bare_quantization import by_autoround, by_llmcompressor, read_packed
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
        with timed("round" if method in ("rtn", "int8") else "quantize"):
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
    from safetensors.torch import save_file

    with tempfile.TemporaryDirectory() as folder:
        save_file(tensors_of(model, packed), str(Path(folder) / "model.safetensors"))


def tensors_of(model: Any, packed: dict[str, Packed]) -> dict[str, Any]:
    """What its file holds, by name: torch tensors."""
    import torch
    from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32

    tied = model.config.tie_word_embeddings
    tensors = {
        name: parameter.detach().half().contiguous()
        for name, parameter in model.named_parameters()
        # Of a packed layer libraries leave scales and zero points beside the weight.
        if name.partition(".weight")[0] not in packed and not (tied and name == "lm_head.weight")
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
    return tensors


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
