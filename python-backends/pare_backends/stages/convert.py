"""Stage `convert`: a written artifact as files that other libraries load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.conversion import gguf_files
from pare_backends.conversion.formats import format_named
from pare_backends.conversion.write import convert, read_source
from pare_backends.progress import Report


@dataclass(frozen=True)
class Request:
    """`convert` of the wire."""

    format: str
    artifact_dir: str
    output_dir: str


def run(request: Request, report: Report) -> dict[str, Any]:
    """StageResults.convert of `core/schemas/wire.ts`."""
    output, source = Path(request.output_dir), read_source(request.artifact_dir)
    if request.format == gguf_files.NAME:
        formula = gguf_files.convert_gguf(source, output, report)
    else:
        formula = convert(source, format_named(request.format), output, report)
    weights = (path for path in output.iterdir() if path.suffix in (".safetensors", ".gguf"))
    size = sum(path.stat().st_size for path in weights)
    return {"size_bytes": size, "formula_bytes": formula}
