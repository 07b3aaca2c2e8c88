"""Call `mix`: the best assignment of kept layers under a budget, by scores and by evaluation."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report
from pare_backends.quantization.layer_checks import check_layers
from pare_backends.quantization.layers.kept import kept_formats, open_store
from pare_backends.quantization.layers.store import LayerStore
from pare_backends.quantization.mixing.assignment import assignment_text
from pare_backends.quantization.mixing.candidates import Candidate, Candidates, budget_of
from pare_backends.quantization.mixing.compare import difference, measure
from pare_backends.quantization.mixing.formats import Format, formats_of
from pare_backends.quantization.mixing.score import Score, read_kept
from pare_backends.quantization.mixing.scores import Scoring
from pare_backends.quantization.mixing.solve import best_mix

CURVE = 12
"""Budgets of the curve, evenly from the least that is possible to the most."""
SCORER = "fisher"
BITS = (2.0, 8.5)
"""What the knob average_bits of `mixed` takes."""


@dataclass(frozen=True)
class Request:
    """`mix` of the wire."""

    artifact_dir: str
    calibration_path: str
    formats: list[str]
    windows: int
    tokens: int
    budget_bits: float | None
    budget_bytes: int | None
    refine: int
    refine_windows: int
    fused: bool
    seed: int
    layer_cache: str


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/mix.ts`."""
    formats = formats_of(request.formats)
    checkpoint, layout = read(request.artifact_dir), layout_of(request.artifact_dir)
    context = Context(
        Path(request.artifact_dir),
        layout,
        report,
        request.seed,
        Path(request.calibration_path),
        layer_cache=Path(request.layer_cache),
    )
    layers = layout.linear
    check(request, formats)
    for one in formats:
        check_layers(checkpoint, layout, layers, one.group_size)
    weights = sum(math.prod(checkpoint.shape(layer)) for layer in layers)
    budget = budget_of(request.budget_bits, request.budget_bytes, weights, len(layers))
    text = context.calibration(request.windows + request.refine_windows, request.tokens)
    windows, held = text[: request.windows], text[request.windows :]
    model, _ = context.load_linear(checkpoint)
    with open_store(context, windows) as store:
        kept = kept_formats(model, layers, formats, windows, store, context)
        scores = kept_scores(model, windows, kept, store, context)
        candidates = Candidates(
            {SCORER: scores, "reconstruction": by_error(scores, store)},
            *(layers, request.fused, request.seed),
        )
        start = time.perf_counter()
        with report.span("solve"):
            best = candidates.run(budget, request.refine)
        seconds = time.perf_counter() - start
        measured: list[list[float]] = []
        if request.refine > 0:
            modules = [(layer, layout.modules[layer]) for layer in layers]
            with report.span("refine", library=True):
                measured = measure(
                    *(model, modules, store, held, best),
                    lambda done, total: report.progress("refine", done, total, "mixes"),
                )
        size = store.size_bytes(layers, formats)
    won = min(range(len(best)), key=lambda n: mean(measured[n]) if measured else n)
    rows = rows_of(best, measured, won, layers, weights)
    return {
        "budget_bytes": budget,
        "mixes": rows,
        "curve": curve(candidates, weights),
        "solve_seconds": seconds,
        "kept_bytes": size,
        "action": {
            "agent": "quantization",
            "method": "mixed",
            "params": {
                "assignment": rows[won]["mix"],
                "average_bits": round(min(max(rows[won]["weight_bits"], BITS[0]), BITS[1]), 3),
                "rounded_by": "kept",
                "samples": request.windows,
                "seqlen": request.tokens,
            },
        },
    }


def check(request: Request, formats: Sequence[Format]) -> None:
    """Raises where something cannot be mixed or compared."""
    if any(one.activation_group_size is not None for one in formats):
        raise CallFailure(
            "invalid",
            "Cannot keep layers in int8, which rounds the inputs, too",
            hint="Name formats of weights alone, such as 8-bit-g64",
        )
    if request.refine > 0 and request.refine_windows < 1:
        raise CallFailure("bad_input", "Cannot evaluate mixes without windows of text")


def kept_scores(
    model: Any, windows: Any, kept: list[Format], store: LayerStore, context: Context
) -> list[Score]:
    """What every kept layer costs, measured once: any budget is solved from what is stored."""
    layers = context.layout.linear
    asked = json.dumps([store.source, [one.name for one in kept], SCORER, context.seed])
    path = store.folder / f"scores-{hashlib.sha256(asked.encode()).hexdigest()}.jsonl"
    found = read_kept(path)
    if all(layer in found for layer in layers):
        return [score for layer in layers for score in found[layer]]
    scoring = Scoring(
        *(model, context.layout, windows, kept, [SCORER], context.seed, context.report, path)
    )
    return scoring.run(layers)


def by_error(scores: Sequence[Score], store: LayerStore) -> list[Score]:
    """The scores by the error of the layers' outputs, which is kept with the layers."""
    found = []
    for score in scores:
        kept = store.find(score.layer, formats_of([score.format])[0])
        error = score.value if kept is None else kept[1]
        found.append(replace(score, scorer="reconstruction", value=error, unit="1"))
    return found


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def rows_of(
    best: Sequence[Candidate],
    measured: Sequence[Sequence[float]],
    won: int,
    layers: Sequence[str],
    weights: int,
) -> list[dict[str, Any]]:
    """A row a candidate: what was predicted and measured, and how far it is from the best uniform
    one, on the same windows."""
    uniform = [n for n, one in enumerate(best) if one.source == "uniform"]
    against = min(uniform, key=lambda n: mean(measured[n])) if uniform and measured else None
    rows = []
    for number, one in enumerate(best):
        own = measured[number] if measured else None
        apart = None
        if own is not None and against is not None and against != number:
            apart = difference(own, measured[against])
        rows.append(
            {
                "source": one.source,
                "mix": assignment_text(dict(zip(layers, one.formats, strict=True)), layers),
                "size_bytes": one.size_bytes,
                "weight_bits": 8 * one.size_bytes / weights,
                "predicted_kl": one.predicted,
                "kl": None if own is None else mean(own),
                "kl_by_window": [] if own is None else list(own),
                "less_uniform": None if apart is None else asdict(apart),
                "won": number == won,
            }
        )
    return rows


def curve(candidates: Candidates, weights: int) -> list[dict[str, float]]:
    """The whole range of budgets: bits per weight, and the summed score of the best mix."""
    decisions = candidates.decisions(SCORER)
    least = sum(min(one.size_bytes for one in each.options) for each in decisions)
    most = sum(max(one.size_bytes for one in each.options) for each in decisions)
    points = []
    for step in range(CURVE):
        budget = least + (most - least) * step // (CURVE - 1)
        chosen = best_mix(decisions, budget)
        size = sum(option.size_bytes for option in chosen)
        predicted = sum(option.score for option in chosen)
        points.append(
            {"weight_bits": 8 * size / weights, "size_bytes": size, "predicted_kl": predicted}
        )
    return points
