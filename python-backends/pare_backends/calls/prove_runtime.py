"""Call `prove_runtime`: that a runtime computes with the artifact's own weights.

Logits over a text that the runtime itself samples: strict float32 against the dequantized torch
model, which proves the exchange of the weights; and the numerics that speed figures are taken
with, against the model as it is evaluated (with quantized activations where declared).

Rounding is not continuous: an activation that float32 puts a last bit to the other side of a half
becomes another integer, and after some layers all rounding errors are others. So two computations
of the same quantized activations agree in distribution and not in every logit, and how far they
part is measured too: the evaluated model against itself with its embeddings a millionth larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pare_backends.checkpoint.soundness import mean_kl
from pare_backends.failures import CallFailure
from pare_backends.progress import Report
from pare_backends.runtimes.logits import load_logits

LARGEST_STRICT_KL = 1e-3
"""The same weights give 1e-8; one wrong layer gives far more."""
LARGEST_TIMED_KL = 0.1
"""What is rounded gives 1e-3 to 5e-2; products that are wrong for some shapes over a nat."""
NUDGE = 1 + 1e-6
"""About what two orders of summing change in float32."""


@dataclass(frozen=True)
class Request:
    runtime: str
    artifact_dir: str
    logits_path: str


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/prove_runtime.ts`."""
    with report.span("prove", library=True):
        found = load_logits(request.logits_path)
        report.progress("prove", 1, 2, "steps")
        plain, evaluated, nudged = torch_logits(request.artifact_dir, found.tokens)
        report.progress("prove", 2, 2, "steps")
    strict_kl = mean_kl(plain, found.strict)
    if not strict_kl <= LARGEST_STRICT_KL:
        raise CallFailure(
            "verification",
            f"Cannot trust {request.runtime} with {request.artifact_dir}: in strict float32 its "
            f"logits differ from the dequantized model's by a KL divergence of {strict_kl:.2g}, "
            f"over {LARGEST_STRICT_KL:g}",
            "remove the folder cache/forms under PARE_HOME, so that the form is made again",
        )
    timed_kl = mean_kl(evaluated, found.timed)
    spread = 0.0 if nudged is None else mean_kl(evaluated, nudged)
    if not timed_kl <= LARGEST_TIMED_KL + spread:
        raise CallFailure(
            "verification",
            f"Cannot trust {request.runtime} with {request.artifact_dir}: as it is timed its logits"
            f" differ from the evaluated model's by a KL divergence of {timed_kl:.2g}, over"
            f" {LARGEST_TIMED_KL:g}, and in strict float32 by {strict_kl:.2g}",
            "its products of packed weights are wrong for this model: take another format or"
            " runtime",
        )
    best = found.timed.argmax(axis=1) == evaluated.argmax(axis=1)
    return {
        "strict_kl": strict_kl,
        "strict_max_difference": float(np.abs(plain - found.strict).max()),
        "default_kl": timed_kl,
        "default_agreement": float(best.mean()),
        "rounding_kl": None if nudged is None else spread,
        "tokens": len(found.tokens),
        "numerics": dict(found.numerics),
    }


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
