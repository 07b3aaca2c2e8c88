"""Stage `runtime_logits`: what a runtime computes for a text of its own, written to a file.

For runtimes whose environment holds no torch: `prove_runtime` compares the file with the model.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pare_backends.failures import StageFailure
from pare_backends.progress import Report
from pare_backends.stages.prove_runtime import sample


@dataclass(frozen=True)
class Request:
    runtime: str
    model_dir: str
    strict_dir: str
    tokens: int
    seed: int
    output_path: str


def run(request: Request, report: Report) -> dict[str, Any]:
    """Samples a text in the model as it is timed, then computes it in `strict_dir`'s model, the
    same weights as float32. Writes both logits and the tokens as .npz."""
    if request.runtime != "llama.cpp":
        raise StageFailure(
            "bad_input",
            f"Cannot compute logits in {request.runtime}: only llama.cpp needs them from here",
        )
    from pare_backends.runtimes.llama_cpp.decoder import LlamaCppDecoder
    from pare_backends.runtimes.llama_cpp.gguf_directory import described_numerics

    with report.span("logits", library=True):
        with closing(LlamaCppDecoder(request.model_dir, report.threads)) as own:
            tokens = sample(own, request.tokens, request.seed)
            own_logits = step_by_step(own, tokens)
        with closing(LlamaCppDecoder(request.strict_dir, report.threads)) as exact:
            strict = step_by_step(exact, tokens)
    numerics = asdict(described_numerics(request.model_dir))
    np.savez(
        request.output_path,
        tokens=tokens,
        own=own_logits,
        strict=strict,
        numerics=np.array(json.dumps(numerics)),
    )
    return {"tokens": len(tokens)}


def step_by_step(decoder: Any, tokens: np.ndarray) -> np.ndarray:
    """Logits after each token. tokens: (n,) int64; returns: (n, vocabulary) float32"""
    decoder.reset()
    return np.stack([decoder.step(tokens[i : i + 1])[-1].copy() for i in range(len(tokens))])
