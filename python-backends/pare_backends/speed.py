"""Stage `speed`: latency, prefill, memory and energy of an artifact in a named runtime.

The artifact is loaded alone first, so that the process's peak memory is its own; then the
baseline, and both generate in turn. Standard errors are of the median, by bootstrap over the
passes.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends import energy
from pare_backends.bandwidth import read_bandwidth
from pare_backends.failures import StageFailure
from pare_backends.progress import Report
from pare_backends.runtimes.quiet import (
    alert_if_busy,
    foreign_meter,
    timing_lock,
    wait_until_quiet,
)
from pare_backends.runtimes.session import Session, open_session
from pare_backends.runtimes.timing import Pass, median_with_error, time_in_turn

IDLE_SECONDS = 1.0
WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class Request:
    runtime: str
    artifact_dir: str
    baseline_dir: str | None
    graph_dir: str | None
    prompt_tokens: int
    new_tokens: int
    repeats: int
    seed: int


def run(request: Request, report: Report) -> dict[str, Any]:
    """StageResults.speed of `core/schemas/wire.ts`."""
    for name in ("prompt_tokens", "new_tokens", "repeats"):
        if getattr(request, name) < 1:
            raise StageFailure(
                "bad_input", f"Cannot time generation: {name} is {getattr(request, name)}, under 1"
            )
    prompt = _prompt(Path(request.artifact_dir), request.prompt_tokens, request.seed)
    with timing_lock(report):
        session = _load(request, request.artifact_dir, prompt, report)
        peak, peak_method = peak_memory(), _peak_method(request.runtime)
        gpu_peak = session.gpu_peak_bytes()
        sessions = [session]
        if request.baseline_dir is not None:
            sessions.append(_load(request, request.baseline_dir, prompt, report))
        with report.span("wait"):
            wait_until_quiet(report)
        load = os.getloadavg()[0]
        with report.span("bandwidth"):
            bandwidth = read_bandwidth(report.threads)
        reader = energy.energy_reader(session.device)
        with report.span("idle"):
            idle = energy.idle_watts(reader, IDLE_SECONDS)
        others = foreign_meter()
        with report.span("speed", library=True):
            passes = time_in_turn(
                sessions, prompt, request.new_tokens, request.repeats, reader, idle, report
            )
        alert_if_busy(report, others(), load)
    figures = [_figures(request, s, p, reader, load) for s, p in zip(sessions, passes, strict=True)]
    figures[0].append(_memory(request, session, "memory_bytes", peak, peak_method))
    if gpu_peak is not None:
        method = "torch.cuda.max_memory_allocated"
        figures[0].append(_memory(request, session, "gpu_memory_bytes", gpu_peak, method))
    return {
        "measurements": figures[0],
        "baseline_measurements": figures[1] if len(figures) > 1 else [],
        "numerics": asdict(session.numerics),
        "bytes_read_per_token": session.bytes_read_per_token,
        "memory_bandwidth_gb_s": bandwidth / 1e9,
        "roofline_ms": session.bytes_read_per_token / bandwidth * 1000,
        "load_average": load,
        "energy": _energy_reading(passes[0], request.new_tokens, reader, idle),
    }


def _prompt(artifact: Path, tokens: int, seed: int) -> np.ndarray:
    """Seeded random token ids: what they are does not change the time. returns: (n,) int64"""
    vocabulary = int(json.loads((artifact / "config.json").read_text())["vocab_size"])
    return np.random.default_rng(seed).integers(0, vocabulary, tokens, dtype=np.int64)


def _load(request: Request, directory: str, prompt: np.ndarray, report: Report) -> Session:
    """Loads and generates a little, so that nothing is done for the first time when it counts."""
    with report.span("load", library=True):
        session = open_session(request.runtime, directory, request.graph_dir, report.threads)
    with report.span("warm-up", library=True):
        token = session.prefill(prompt)
        for _ in range(min(WARM_UP_TOKENS, request.new_tokens)):
            token = session.decode(token)
    return session


def peak_memory() -> int:
    """Largest resident memory of this process so far, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise StageFailure("crash", "Cannot read this process's peak memory: no VmHWM in /proc")


def _peak_method(runtime: str) -> str:
    """VmHWM, with a warning where a module that the runtime does not need has raised it."""
    if runtime == "openvino" and "torch" in sys.modules:
        return "VmHWM of a process that also imported torch"
    return "VmHWM"


def _figures(
    request: Request,
    session: Session,
    passes: list[Pass],
    reader: energy.EnergyReader,
    load: float,
) -> list[dict[str, Any]]:
    tokens = request.new_tokens
    notes = "; ".join(("", *session.notes))
    how = f"median of {len(passes)} passes, load {load:.1f}{notes}"
    joules = [p.joules / tokens * 1000 for p in passes]
    grams = [energy.grams_of_co2(value) for value in joules]
    energy_from = "measured" if reader.provenance == "measured" else "estimated"
    rows = (
        ("latency_ms", "ms/token", "minimize", [p.latency_ms(tokens) for p in passes],
         session.provenance, f"{how}; {tokens} greedy tokens after {request.prompt_tokens}"),
        ("prefill_tokens_per_s", "tokens/s", "maximize",
         [request.prompt_tokens / p.prefill_seconds for p in passes],
         session.provenance, f"{how}; prompt of {request.prompt_tokens}"),
        ("energy_j_per_1k_tokens", "J/1k tokens", "minimize", joules, energy_from, reader.method),
        ("co2_g_per_1k_tokens", "g/1k tokens", "minimize", grams, energy_from,
         f"{reader.method}; {energy.CO2_SOURCE}"),
    )  # fmt: skip
    measurements = []
    for metric, unit, direction, values, provenance, method in rows:
        value, error = median_with_error(values, request.seed)
        row = _measurement(request, session, metric, value, unit, provenance, method)
        measurements.append(
            {**row, "direction": direction, "n": len(values), "standard_error": error}
        )
    return measurements


def _energy_reading(
    passes: list[Pass], tokens: int, reader: energy.EnergyReader, idle: float
) -> dict[str, Any]:
    """`EnergyReading` of the wire: the decoding of all passes together."""
    return {
        "reader": reader.method,
        "joules": sum(p.joules for p in passes),
        "seconds": sum(p.decode_seconds for p in passes),
        "idle_watts": idle,
        "tokens": tokens * len(passes),
    }


def _memory(
    request: Request, session: Session, metric: str, value: int, method: str
) -> dict[str, Any]:
    provenance = session.provenance
    return _measurement(request, session, metric, value, "bytes", provenance, method)


def _measurement(
    request: Request,
    session: Session,
    metric: str,
    value: float,
    unit: str,
    provenance: str,
    method: str,
) -> dict[str, Any]:
    """A `Measurement` of `core/schemas/measurement.ts` of one reading."""
    return {
        "metric": metric,
        "value": value,
        "unit": unit,
        "direction": "minimize",
        "n": 1,
        "standard_error": None,
        "fidelity": "full",
        "provenance": provenance,
        "task": None,
        "task_version": None,
        "slice": None,
        "runtime": request.runtime,
        "numerics": asdict(session.numerics),
        "device": session.device,
        "method": method,
    }
