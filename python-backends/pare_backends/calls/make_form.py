"""Call `make_form`: what a runtime loads in the place of an artifact.

Runs in the environment that the runtime's plugin names for it; the work is that of `make.py` in the
runtime's folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.progress import Report
from pare_backends.runtimes.registry import add_runtime, make_form


@dataclass(frozen=True)
class Request:
    runtime: str
    artifact_dir: str
    output_dir: str
    exact: bool
    runtime_dir: str | None = None
    """Of a third party's runtime: the folder of its Python half."""
    precision: str | None = None
    """Of matrices of floats; None: the runtime's own."""


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/make_form.ts`."""
    output = Path(request.output_dir)
    output.mkdir(parents=True, exist_ok=True)
    add_runtime(request.runtime, request.runtime_dir)
    notes = make_form(
        request.runtime,
        request.artifact_dir,
        request.output_dir,
        request.exact,
        report,
        request.precision,
    )
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    return {"size_bytes": size, "notes": notes}
