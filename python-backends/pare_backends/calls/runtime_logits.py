"""Call `runtime_logits`: what a runtime computes for a text of its own, written to a file.

Runs in the runtime's environment, which may hold no torch: `prove_runtime` compares the file with
the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pare_backends.progress import Report
from pare_backends.runtimes.logits import AskedLogits
from pare_backends.runtimes.registry import add_runtime, compute_logits


@dataclass(frozen=True)
class Request:
    runtime: str
    artifact_dir: str
    form_dir: str
    exact_form_dir: str
    tokens: int
    seed: int
    output_path: str
    runtime_dir: str | None = None
    """Of a third party's runtime: the folder of its Python half."""
    precision: str | None = None
    """As it is timed; None: the runtime's own."""


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/runtime_logits.ts`."""
    add_runtime(request.runtime, request.runtime_dir)
    with report.span("logits", library=True):
        asked = AskedLogits(
            request.artifact_dir,
            request.form_dir,
            request.exact_form_dir,
            request.tokens,
            request.seed,
            request.precision,
        )
        found = compute_logits(request.runtime, asked, report.threads)
    found.save(request.output_path)
    return {"tokens": len(found.tokens)}
