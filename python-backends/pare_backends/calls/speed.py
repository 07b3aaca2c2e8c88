"""Call `speed`: latency, prefill, memory and energy of an artifact in a named runtime.

The artifact is loaded alone first, so that the process's peak memory is its own; then the
baseline, and both generate in turn. What is small is loaded before the machine is asked for.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.empty_model import context_length, load_config, words_of_text
from pare_backends.checkpoint.setting import Source, source_of
from pare_backends.checkpoint.stored_form import stored_form
from pare_backends.failures import CallFailure
from pare_backends.machine import memory_bytes
from pare_backends.measuring import energy
from pare_backends.measuring.bandwidth import bandwidth_meter
from pare_backends.measuring.cache_bytes import cache_rows
from pare_backends.measuring.energy_tables import UNKNOWN_CPU, CarbonIntensity, CpuPower
from pare_backends.measuring.quiet import (
    alert_if_busy,
    disturbance,
    foreign_meter,
    timing_lock,
    wait_until_quiet,
)
from pare_backends.measuring.speed_figures import (
    Timed,
    Timing,
    energy_reading,
    energy_rows,
    measurement,
    ratio_rows,
    timing_rows,
)
from pare_backends.measuring.steady import time_steadily
from pare_backends.measuring.timing import Plan, read_energy, time_in_turn
from pare_backends.progress import Report
from pare_backends.runtimes.registry import add_runtime, open_session
from pare_backends.runtimes.session import Session, TakesSetting

IDLE_SECONDS = 1.0
WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class Request:
    runtime: str
    artifact_dir: str
    form_dir: str | None
    baseline_dir: str | None
    baseline_form_dir: str | None
    prompt_tokens: int
    new_tokens: int
    least_passes: int
    most_passes: int
    half_width: float
    seed: int
    cpu_power: CpuPower | None
    carbon_intensity: CarbonIntensity | None
    weights_dir: str | None = None
    """Of a setting: where its weights lie."""
    runtime_dir: str | None = None
    """Of a third party's runtime: the folder of its Python half."""
    precision: str | None = None
    """In which weights run that are all floats; None: the runtime's own."""


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/speed.ts`."""
    for name in ("prompt_tokens", "new_tokens", "least_passes"):
        if getattr(request, name) < 1:
            raise CallFailure(
                "bad_input", f"Cannot time generation: {name} is {getattr(request, name)}, under 1"
            )
    add_runtime(request.runtime, request.runtime_dir)
    own = source_of(request.artifact_dir, request.weights_dir)
    prompt = prompt_of(Path(own.weights_dir), request.prompt_tokens, request.seed)
    early = _load_all(request, own, prompt, report) if _is_small(request) else None
    with timing_lock(report):
        loaded = early or _load_all(request, own, prompt, report)
        sessions, session = loaded.sessions, loaded.sessions[0]
        with report.span("wait"):
            wait_until_quiet(report)
        load = os.getloadavg()[0]
        with report.span("bandwidth"):
            bandwidth = loaded.read_bandwidth()
        reader = energy.energy_reader(session.device, request.cpu_power or UNKNOWN_CPU)
        with report.span("idle"):
            idle = energy.idle_watts(reader, IDLE_SECONDS)
        others = foreign_meter()
        # An emulated speed ranks nothing: how narrow its interval is does not matter.
        emulated = "emulated" in [one.provenance for one in sessions]
        most = request.least_passes if emulated else request.most_passes
        plan = Plan(request.least_passes, most, request.half_width)
        with report.span("speed", library=True):
            passes = time_steadily(
                lambda: time_in_turn(
                    sessions, prompt, request.new_tokens, plan, reader, idle, report
                ),
                report,
            )
        cores = others()
        alert_if_busy(report, cores, load)
        with report.span("energy", library=True):
            counted = [
                read_energy(s, p, prompt, request.new_tokens, reader, idle, report)
                for s, p in zip(sessions, passes, strict=True)
            ]
    timing = _timing(request, reader, idle, load, disturbance(cores))
    settings = (own.setting, None)
    timed = [
        Timed(s, stored_form(s.weights_dir, setting), made, read)
        for s, setting, made, read in zip(sessions, settings, passes, counted, strict=False)
    ]
    figures = [
        [
            *timing_rows(timing, one.session, one.passes, one.form),
            *energy_rows(timing, one.session, one.counted),
        ]
        for one in timed
    ]
    if len(timed) > 1:
        figures[0].extend(ratio_rows(timing, timed[0], timed[1]))
    figures[0].append(
        _memory(request, session, "memory_bytes", loaded.peak_bytes, loaded.peak_method)
    )
    if own.setting is not None:
        with report.span("cache", library=True):
            for rows, one in zip(figures, sessions, strict=True):
                rows.extend(_cache_rows(request, one, own.weights_dir))
    if loaded.gpu_peak_bytes is not None:
        method = "torch.cuda.max_memory_allocated"
        row = _memory(request, session, "gpu_memory_bytes", loaded.gpu_peak_bytes, method)
        figures[0].append(row)
    return {
        "measurements": figures[0],
        "baseline_measurements": figures[1] if len(figures) > 1 else [],
        "numerics": asdict(session.numerics),
        "bytes_read_per_token": session.bytes_read_per_token,
        "memory_bandwidth_gb_s": bandwidth / 1e9,
        "roofline_ms": session.bytes_read_per_token / bandwidth * 1000,
        "load_average": load,
        "threads": report.threads,
        "energy": energy_reading(timing, counted[0]),
    }


def _timing(
    request: Request, reader: energy.EnergyReader, idle: float, load: float, cores: float | None
) -> Timing:
    return Timing(
        runtime=request.runtime,
        prompt_tokens=request.prompt_tokens,
        new_tokens=request.new_tokens,
        warm_up_tokens=min(WARM_UP_TOKENS, request.new_tokens),
        seed=request.seed,
        load=load,
        busy_cores=cores,
        reader=reader,
        idle_watts=idle,
        carbon_intensity=request.carbon_intensity,
    )


def prompt_of(artifact: Path, tokens: int, seed: int) -> np.ndarray:
    """Seeded random token ids: what they are does not change the time. returns: (n,) int64"""
    vocabulary = words_of_text(json.loads((artifact / "config.json").read_text()))
    return np.random.default_rng(seed).integers(0, vocabulary, tokens, dtype=np.int64)


def _cache_rows(request: Request, session: Session, weights_dir: str) -> list[dict[str, Any]]:
    """What a setting keeps, beside what the baseline does."""
    config = load_config(weights_dir)
    context, vocabulary = context_length(config), words_of_text(config.get_text_config().to_dict())
    return cache_rows(request.runtime, session, context, vocabulary, request.seed)


def _is_small(request: Request) -> bool:
    """Whether what is timed may lie in memory while its call waits for its turn, beside others that
    compute: a stored byte takes up to eight, as 4-bit weights are held in float32."""
    folders = {
        *(request.artifact_dir, request.weights_dir, request.form_dir),
        *(request.baseline_dir, request.baseline_form_dir),
    }
    files = (file for one in folders if one is not None for file in Path(one).rglob("*"))
    _, available = memory_bytes()
    return 8 * sum(file.stat().st_size for file in files if file.is_file()) < available / 2


@dataclass(frozen=True)
class _Loaded:
    sessions: list[Session]  # the artifact's, then the baseline's where there is one
    peak_bytes: int  # of this process before the baseline was loaded
    peak_method: str
    gpu_peak_bytes: int | None
    read_bandwidth: Callable[[], float]


def _load_all(request: Request, own: Source, prompt: np.ndarray, report: Report) -> _Loaded:
    session = _load(request, own, request.form_dir, prompt, report)
    peaks = peak_memory(), _peak_method(session), session.gpu_peak_bytes()
    sessions = [session]
    if request.baseline_dir is not None:
        baseline = Source(request.baseline_dir, None)
        sessions.append(_load(request, baseline, request.baseline_form_dir, prompt, report))
    return _Loaded(sessions, *peaks, bandwidth_meter(report.threads))


def _load(
    request: Request, source: Source, form: str | None, prompt: np.ndarray, report: Report
) -> Session:
    """Loads and generates a little, so that nothing is done for the first time when it counts."""
    with report.span("load", library=True):
        session = open_session(
            request.runtime, source.weights_dir, form, report.threads, request.precision
        )
        if source.setting is not None:
            if not isinstance(session, TakesSetting):
                raise CallFailure(
                    "bad_input",
                    f"Cannot run {source.setting.label()} in the runtime {request.runtime}:"
                    " it takes no settings",
                )
            session.take_setting(source.setting)
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
    raise CallFailure("crash", "Cannot read this process's peak memory: no VmHWM in /proc")


def _peak_method(session: Session) -> str:
    """VmHWM, with a warning where a module that the runtime does not need has raised it."""
    if not session.imports_torch and "torch" in sys.modules:
        return "VmHWM of a process that also imported torch"
    return "VmHWM"


def _memory(
    request: Request, session: Session, metric: str, value: int, method: str
) -> dict[str, Any]:
    row = measurement(request.runtime, session, metric, value, method)
    return {**row, "provenance": session.held} if isinstance(session, TakesSetting) else row
