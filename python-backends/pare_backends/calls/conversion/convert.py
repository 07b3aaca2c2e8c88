"""Call `convert`: a written artifact as files that other libraries load."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.conversion.formats import OWN_LAYOUTS, format_named
from pare_backends.conversion.write import convert, read_source, told_of_zeros
from pare_backends.progress import Report

WEIGHTS = re.compile(r"\.(safetensors|gguf)$|^openvino_model\.bin$")
"""Names of files that hold weights."""


@dataclass(frozen=True)
class Request:
    """`convert` of the wire."""

    format: str
    artifact_dir: str
    output_dir: str


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/conversion/convert.ts`."""
    output, source = Path(request.output_dir), read_source(request.artifact_dir)
    own = OWN_LAYOUTS.get(request.format)
    if own is not None:
        formula = own.convert(source, output, report)
        notes = own.lacking(output)
    else:
        formula = convert(source, format_named(request.format), output, report)
        notes = []
    notes += told_of_zeros(source, own_type=own is None)
    weights = (path for path in output.iterdir() if WEIGHTS.search(path.name))
    size = sum(path.stat().st_size for path in weights)
    return {"size_bytes": size, "formula_bytes": formula, "notes": notes}
