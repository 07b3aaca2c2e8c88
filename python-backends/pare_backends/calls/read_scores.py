"""Call `read_scores`: another program's file of layer scores, as scores of a model's layers."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pare_backends.checkpoint import read
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report
from pare_backends.quantization.mixing.others import Known, read_scores


@dataclass(frozen=True)
class Request:
    """`read_scores` of the wire."""

    artifact_dir: str
    path: str


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/read_scores.ts`."""
    checkpoint, layout = read(request.artifact_dir), layout_of(request.artifact_dir)
    shapes: dict[str, tuple[int, int]] = {}
    for layer in layout.part("all"):
        rows, columns = checkpoint.shape(layer)
        shapes[layer] = (columns, rows) if layer in layout.transposed else (rows, columns)
    roles = {layer: layout.role(f"{layer}.weight") for layer in shapes}
    parts = {
        layer: role if role in ("embedding", "head") else "linear" for layer, role in roles.items()
    }
    modules = {module: layer for layer, module in layout.modules.items()}
    if layout.head is None:  # tied: what others score as the head is the embedding
        modules |= {name: layout.embedding for name in ("lm_head", "embed_out")}
    path = Path(request.path)
    program, scores = read_scores(path, Known(shapes, parts, modules))
    return {
        "program": program,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "layers": [asdict(one) for one in scores],
    }
