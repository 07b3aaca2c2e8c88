"""Stage `prove_runtime`: that a runtime computes with the artifact's own weights.

Logits over a text that the runtime itself samples: strict float32 against the dequantized torch
model, which proves the exchange of the weights; and the numerics that speed figures are taken
with, against the model as it is evaluated (with quantized activations where declared).

Rounding is not continuous: an activation that float32 puts a last bit to the other side of a half
becomes another integer, and after some layers all rounding errors are others. So two computations
of the same quantized activations agree in distribution and not in every logit, and how far they
part is measured too: the evaluated model against itself with its embeddings a millionth larger.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pare_backends.failures import StageFailure
from pare_backends.progress import Report

LARGEST_STRICT_KL = 1e-3
"""The same weights give 1e-8; one wrong layer gives far more."""
NUDGE = 1 + 1e-6
"""About what two orders of summing change in float32."""


@dataclass(frozen=True)
class Request:
    runtime: str
    artifact_dir: str
    graph_dir: str | None
    logits_path: str | None
    tokens: int
    seed: int


@dataclass(frozen=True)
class RuntimeLogits:
    """What a runtime computed for a text. Logits: (n, vocabulary) float32."""

    tokens: np.ndarray  # (n,) int64
    strict: np.ndarray  # every weight and activation in float32
    timed: np.ndarray  # with the numerics that speed is taken with
    numerics: dict[str, Any]


def run(request: Request, report: Report) -> dict[str, Any]:
    """StageResults.prove_runtime of `core/schemas/wire.ts`."""
    with report.span("prove", library=True):
        found = runtime_logits(request, report.threads)
        report.progress("prove", 1, 2, "steps")
        plain, evaluated, nudged = torch_logits(request.artifact_dir, found.tokens)
        report.progress("prove", 2, 2, "steps")
    strict_kl = mean_kl(plain, found.strict)
    if not strict_kl <= LARGEST_STRICT_KL:
        raise StageFailure(
            "verification",
            f"Cannot trust {request.runtime} with {request.artifact_dir}: in strict float32 its "
            f"logits differ from the dequantized model's by a KL divergence of {strict_kl:.2g}, "
            f"over {LARGEST_STRICT_KL:g}",
            "remove the cached graph or GGUF file, so that it is made again",
        )
    best = found.timed.argmax(axis=1) == evaluated.argmax(axis=1)
    return {
        "strict_kl": strict_kl,
        "strict_max_difference": float(np.abs(plain - found.strict).max()),
        "default_kl": mean_kl(evaluated, found.timed),
        "default_agreement": float(best.mean()),
        "rounding_kl": None if nudged is None else mean_kl(evaluated, nudged),
        "tokens": len(found.tokens),
        "numerics": found.numerics,
    }


def runtime_logits(request: Request, threads: int) -> RuntimeLogits:
    """What the runtime computes: from a file that it wrote itself, or in OpenVINO here."""
    if request.logits_path is not None:
        with np.load(request.logits_path, allow_pickle=False) as kept:
            numerics = json.loads(str(kept["numerics"]))
            return RuntimeLogits(kept["tokens"], kept["strict"], kept["own"], numerics)
    if request.runtime == "openvino" and request.graph_dir is not None:
        return openvino_logits(request, request.graph_dir, threads)
    raise StageFailure(
        "bad_input",
        f"Cannot prove the runtime {request.runtime}: it takes openvino with a graph, or a file of "
        "the runtime's logits",
    )


def openvino_logits(request: Request, graph_dir: str, threads: int) -> RuntimeLogits:
    """Of a text that the graph itself samples."""
    from pare_backends.runtimes.openvino import compiled as runtime
    from pare_backends.runtimes.openvino.graph_weights import build_model

    graph = build_model(graph_dir, request.artifact_dir)
    compiled = runtime.compile_graph(graph, runtime.STRICT, threads)
    tokens = sample(runtime.Decoder(compiled), request.tokens, request.seed)
    strict = runtime.logits(compiled, tokens)
    numerics = runtime.standard_numerics(graph)
    timed = strict
    if numerics != runtime.STRICT:
        timed = runtime.logits(runtime.compile_graph(graph, numerics, threads), tokens)
    return RuntimeLogits(tokens, strict, timed, asdict(numerics))


def sample(decoder: Any, tokens: int, seed: int) -> np.ndarray:
    """A text of the model's own: sampled at temperature 1 after a seeded first token.

    returns: (tokens,) int64
    """
    random = np.random.default_rng(seed)
    decoder.reset()
    chosen = [1]
    while len(chosen) < tokens:
        logits = decoder.step(np.array(chosen[-1:], np.int64))[-1]
        scores = logits + random.gumbel(size=len(logits))  # the largest is a fair sample
        chosen.append(int(scores.argmax()))
    return np.array(chosen, np.int64)


def torch_logits(
    artifact_dir: str, tokens: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Logits of the dequantized model as it is, as it is evaluated, and as it is evaluated with
    its embeddings nudged; the same and None where no activations are quantized.

    tokens: (n,) int64; returns: (n, vocabulary) float32 each
    """
    import torch

    from pare_backends.checkpoint import read
    from pare_backends.checkpoint.load import load_model

    model = load_model(read(artifact_dir), artifact_dir)
    ids = torch.from_numpy(tokens)[None]
    with torch.inference_mode():
        evaluated = model(ids).logits[0].float().numpy()
        hooked = [module for module in model.modules() if module._forward_pre_hooks]
        if not hooked:
            return evaluated, evaluated, None
        embedding = model.get_input_embeddings()
        with embedding.register_forward_hook(lambda module, given, output: output * NUDGE):
            nudged = model(ids).logits[0].float().numpy()
        for module in hooked:
            module._forward_pre_hooks.clear()
        return model(ids).logits[0].float().numpy(), evaluated, nudged


def mean_kl(reference: np.ndarray, other: np.ndarray) -> float:
    """Mean over the positions of KL(reference ‖ other) in nats, in double precision.

    reference, other: (n, vocabulary) logits
    """
    p, q = log_softmax(reference), log_softmax(other)
    return float((np.exp(p) * (p - q)).sum(axis=1).mean())


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Log probabilities in float64, row by row."""
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
