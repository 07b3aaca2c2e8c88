"""Call `sensitivity`: what each layer of a model costs in each format, by each scorer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.kept_memory import keep_freed_memory
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.mixing.formats import formats_of
from pare_backends.quantization.mixing.scores import Scoring


@dataclass(frozen=True)
class Request:
    """`sensitivity` of the wire."""

    artifact_dir: str
    calibration_path: str
    formats: list[str]
    scorers: list[str]
    windows: int
    tokens: int
    seed: int
    work_dir: str | None = None
    """A folder of this request alone: a killed run's layers are found there again."""


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/sensitivity.ts`."""
    keep_freed_memory()
    formats = formats_of(request.formats)
    checkpoint, layout = read(request.artifact_dir), layout_of(request.artifact_dir)
    context = Context(
        Path(request.artifact_dir), layout, report, request.seed, Path(request.calibration_path)
    )
    layers = layout.part("all")
    if not layout.linear:
        raise CallFailure("invalid", "Cannot score layers: the model has no linear ones")
    check_layers(checkpoint, layout, layers, -1)
    windows = context.calibration(request.windows, request.tokens)
    model, _ = context.load_linear(checkpoint)
    kept = None if request.work_dir is None else Path(request.work_dir) / "scores.jsonl"
    scoring = Scoring(model, layout, windows, formats, request.scorers, request.seed, report, kept)
    scores = scoring.run(layers)
    return {"layers": [asdict(one) for one in scores]}
