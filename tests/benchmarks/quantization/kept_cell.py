"""Kept layers: what making them takes, and mixes of them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure_cell import SEED, calibration, linear_weights

from pare_backends.calls import mix
from pare_backends.calls.apply import peak_memory
from pare_backends.checkpoint import read
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.quantization.layers.kept import kept_formats, open_store
from pare_backends.quantization.mixing.candidates import Candidates
from pare_backends.quantization.mixing.formats import formats_of

SOLVED = 5
"""Times that a budget is solved for: the median counts."""


@contextmanager
def timed(found: dict[str, Any], name: str) -> Iterator[None]:
    """Adds the block's seconds, and the processor's."""
    began, before = time.perf_counter(), os.times()
    yield
    found[f"{name}_seconds"] = time.perf_counter() - began
    found[f"{name}_processor_seconds"] = sum(os.times()[:4]) - sum(before[:4])


def kept(asked: dict[str, Any], parent: Path) -> dict[str, Any]:
    """Seconds and bytes of every layer in every format, of their scores, of the solver.

    asked: "kept" holds "formats", "windows", "tokens", "threads" and "bits", the budget that is
        solved for
    """
    import torch

    how, folder = asked["kept"], Path(asked["folder"]) / "layers"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    layout, path = layout_of(str(parent)), calibration(asked, parent)
    torch.set_num_threads(how["threads"])
    report = silent_report(how["threads"])
    context = Context(parent, layout, report, SEED, path, layer_cache=folder)
    found: dict[str, Any] = {"load": os.getloadavg()[0]}
    formats, layers = formats_of(how["formats"]), layout.linear
    windows = context.calibration(how["windows"], how["tokens"])
    with timed(found, "load_model"):
        model, _ = context.load_linear(read(parent))
    with open_store(context, windows) as store:
        with timed(found, "make"):
            made = kept_formats(model, layers, formats, windows, store, context)
        with timed(found, "score"):
            scores = mix.kept_scores(model, windows, made, store, context)
        kept_bytes = store.size_bytes(layers, formats)
    weights = linear_weights(parent)
    for name, fused in (("", True), ("free_", False)):
        candidates = Candidates({mix.SCORER: scores}, layers, fused, SEED)
        decisions = candidates.decisions(mix.SCORER)
        seconds = []
        for _ in range(SOLVED):
            took: dict[str, Any] = {}
            with timed(took, "solve"):
                mix.best_mix(decisions, int(how["bits"] * weights / 8))
            seconds.append(took["solve_seconds"])
        found[f"{name}solve_seconds"] = sorted(seconds)[SOLVED // 2]
        with timed(found, f"{name}curve"):
            mix.curve(candidates, weights)
    return found | {
        "threads": how["threads"],
        "formats": len(formats),
        "layers": len(layers),
        "kept_bytes": kept_bytes,
        "peak_memory_bytes": peak_memory(),
    }


def weighed(asked: dict[str, Any], parent: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request with the action of the mix that won, and what finding it took. asked: "mix" holds
    what is asked of the call of that name, by its names"""
    found: dict[str, Any] = {}
    folder = Path(asked["folder"]) / "layers"
    folder.mkdir(parents=True, exist_ok=True)  # what an earlier cell kept is found there
    request = mix.Request(
        artifact_dir=str(parent),
        calibration_path=str(calibration(asked, parent)),
        budget_bytes=None,
        seed=SEED,
        layer_cache=str(folder),
        **asked["mix"],
    )
    with timed(found, "mix"):
        answer = mix.run(request, silent_report(1))
    actions = [answer["action"]]
    return {**asked, "actions": actions}, found | {
        "actions": actions,
        "candidates": [
            {name: row[name] for name in ("source", "mix", "kl", "weight_bits")}
            for row in answer["mixes"]
        ],
    }
