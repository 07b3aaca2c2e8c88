"""Call `check_conversion`: reads converted files back in this fresh process. Facts alone: whether
they are those of files that can be handed on is for the gate to say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.conversion.check import (
    NOTHING,
    as_read,
    check_layers,
    fused_apart,
    opened_facts,
    other_floats,
    read_written,
)
from pare_backends.conversion.formats import OWN_LAYOUTS, format_named
from pare_backends.conversion.write import formula_bytes, read_source
from pare_backends.failures import CallFailure
from pare_backends.progress import Report


@dataclass(frozen=True)
class Request:
    """`check_conversion` of the wire."""

    format: str
    files_dir: str
    artifact_dir: str
    tool_python: str | None = None
    """The interpreter of the environment of the program that such files are for."""


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/conversion/check_conversion.ts`."""
    directory = Path(request.files_dir)
    source = read_source(request.artifact_dir)
    if request.format in OWN_LAYOUTS:
        own = OWN_LAYOUTS[request.format]
        return own.check(directory, source, report, request.tool_python)
    form = format_named(request.format)
    try:
        written = read_written(directory, packed=bool(source.grids))
    except CallFailure as failure:
        return {**NOTHING, "unreadable": failure.message}
    layers = check_layers(written, source, form, report)
    facts = {
        **NOTHING,
        "unreadable": None,
        "other_floats": other_floats(written, source),
        "fused_apart": fused_apart(layers) if form.FUSED else [],
        "tensor_bytes": written.tensor_bytes,
        "formula_bytes": formula_bytes(source, form),
    }
    if all(row["problem"] is None for row in layers):
        with report.span("open", library=True):
            facts |= opened_facts(
                lambda: form.open(directory, written.config),
                lambda: as_read(written, source, form),
                source,
                layers,
            )
    return facts | {"layers": layers}
