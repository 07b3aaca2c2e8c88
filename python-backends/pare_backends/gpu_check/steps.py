"""What is tried on a device: every method on the model, its artifact evaluated and timed there."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pare_backends.calls import apply, evaluate, inspect_device, model_kl, speed
from pare_backends.device import run_device
from pare_backends.evaluation.tasks.wire_task import SampleSelection
from pare_backends.failures import CallFailure, one_line
from pare_backends.gpu_check.world import EVALUATED, SEED, World, knobs_of
from pare_backends.knobs import shipped_knobs
from pare_backends.measuring.answering import OriginalModel
from pare_backends.progress import silent_report
from pare_backends.runtimes.registry import formless_runtimes

ELSEWHERE = ("elsewhere/as_given", "quantization/kquant")
"""Tried by other means: one needs a file made elsewhere, the other llama.cpp's library."""
ROUNDED = "quantization/rtn"
PRUNED = "pruning/magnitude"
AFTER = {
    "quantization/eora": ROUNDED,
    "finetuning/lora": ROUNDED,
    "distillation/distill": PRUNED,
    "distillation/gkd": PRUNED,
}
"""Methods that restore what another took, and which."""
CUT = {"budget": 24, "window": 16, "sinks": 4, "share": 0.5, "budget_in": "tokens"}
CODED = {"code_group": 16, "code_residual": 0}
"""Knobs of caches, by which something is cut or coded of the shortest windows."""


@dataclass
class Tried:
    """What came of a step."""

    step: str
    status: str = "passed"
    """passed, failed or skipped."""
    reason: str = ""
    seconds: float = 0.0
    gpu_bytes: int | None = None
    """The most that torch held on the GPU meanwhile."""
    figures: dict[str, float] = field(default_factory=dict)


Step = tuple[str, Callable[[], dict[str, float]]]


def steps_on(world: World) -> Iterator[Step]:
    """Every step by its name, in the order that they are taken."""
    yield "device", device_figures
    yield "windows", lambda: prepared(world)
    yield "evaluate original", lambda: evaluated(world, world.model, None)
    methods = [one for one in shipped_knobs() if one not in ELSEWHERE]
    for method in (ROUNDED, PRUNED, *(one for one in methods if one not in (ROUNDED, PRUNED))):
        yield method, lambda own=method: applied(world, own)  # type: ignore[misc]
    yield "kl of two models", lambda: compared(world)
    for runtime in formless_runtimes():
        yield f"speed in {runtime}", lambda own=runtime: timed(world, own)  # type: ignore[misc]


def take(step: Step) -> Tried:
    """Takes a step; whatever it raises is told."""
    name, run = step
    tried = Tried(step=name)
    forget_peak()
    start = time.perf_counter()
    try:
        tried.figures = run()
    except (ModuleNotFoundError, ImportError) as error:
        tried.status, tried.reason = "skipped", one_line(error)
    except CallFailure as failure:
        missing = isinstance(failure.__cause__, ImportError) or "not installed" in failure.message
        tried.status = "skipped" if missing else "failed"
        tried.reason = failure.message
    except Exception as error:
        tried.status, tried.reason = "failed", f"{type(error).__name__}: {one_line(error)}"
    tried.seconds = time.perf_counter() - start
    tried.gpu_bytes = peak()
    return tried


def forget_peak() -> None:
    """Begins to count anew what torch holds on the GPU."""
    import torch

    gc.collect()
    if run_device() != "cpu":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak() -> int | None:
    """Bytes; None on the CPU."""
    import torch

    return None if run_device() == "cpu" else int(torch.cuda.max_memory_allocated())


def device_figures() -> dict[str, float]:
    """Numbers of the device; its words are told once by the whole check."""
    facts = inspect_device.run(inspect_device.Request("."), silent_report())
    return {name: float(value) for name, value in facts.items() if isinstance(value, int | float)}


def prepared(world: World) -> dict[str, float]:
    world.prepare()
    return {}


def evaluated(world: World, artifact: Path, weights: Path | None) -> dict[str, float]:
    """Perplexity and the divergence from the original on the text. weights: of a setting"""
    task = world.task()
    place = world.folder / "answers" / artifact.name
    place.mkdir(parents=True, exist_ok=True)
    request = evaluate.EvaluateRequest(
        artifact_dir=str(artifact),
        tasks=[task],
        selections=[SampleSelection(task.task, list(range(EVALUATED)))],
        fidelity="check",
        batch_size=4,
        samples_path=str(place / "samples.parquet"),
        seed=SEED,
        batched_apart=[],
        answers_path=None,
        runtime=None,
        original=OriginalModel(str(world.model), "original", str(world.folder / "original")),
        weights_dir=None if weights is None else str(weights),
        evict_after=None if weights is None else "context",
    )
    told = evaluate.run(request, silent_report())
    return {row["metric"]: float(row["value"]) for row in told["measurements"]}


def applied(world: World, method: str) -> dict[str, float]:
    """A method's artifact: its bytes, what it took, and how far it is from the original."""
    agent, _, name = method.partition("/")
    output = artifact_of(world, method)
    shutil.rmtree(output, ignore_errors=True)
    before = AFTER.get(method)
    parent = world.model if before is None else artifact_of(world, before)
    cuts = agent == "kv_cache"
    knobs = knobs_of(method, world.tokens)
    if cuts:
        knobs |= {knob: value for knob, value in (CUT | CODED).items() if knob in knobs}
    if method == "finetuning/lora":
        knobs["merge"] = False
    request = apply.ApplyRequest(
        parent_dir=str(parent),
        output_dir=str(output),
        agent=agent,
        method=name,
        params=knobs,
        calibration_path=str(world.calibration),
        seed=SEED,
        python_path=None,
        training_path=str(world.training),
        work_dir=str(folder(world, "work", name)),
        parent_id="0123456789abcdef",
        original_dir=str(world.model),
        original_cache=str(folder(world, "teacher")),
        reference_dir=str(world.model),
        layer_cache=str(folder(world, "layers")),
        device=run_device().partition(":")[0],
    )
    start = time.perf_counter()
    told = apply.run(request, silent_report())
    took = time.perf_counter() - start
    figures = {"apply_seconds": took, "bytes": float(told["formula_bytes"])}
    for row in told["figures"]:
        if row["metric"] == "energy_j":
            figures["joules"] = float(row["value"])
    return {**figures, **evaluated(world, output, parent if cuts else None)}


def artifact_of(world: World, method: str) -> Path:
    return world.folder / "artifacts" / method.partition("/")[2]


def folder(world: World, *names: str) -> Path:
    found = world.folder.joinpath(*names)
    found.mkdir(parents=True, exist_ok=True)
    return found


def compared(world: World) -> dict[str, float]:
    """Call `model_kl` of the original and the rounded model."""
    room = folder(world, "room")
    request = model_kl.ModelKlRequest(
        base=str(world.model),
        other=str(artifact_of(world, ROUNDED)),
        room_dir=str(room),
        text_path=str(world.part(evaluated=True)),
        windows=EVALUATED,
        tokens=world.tokens,
        seed=SEED,
    )
    told = model_kl.run(request, silent_report())
    return {"kl": float(told["kl"]["mean"]), "agreement": float(told["agreement"])}


def timed(world: World, runtime: str) -> dict[str, float]:
    """Call `speed` of the original."""
    request = speed.Request(
        runtime=runtime,
        artifact_dir=str(world.model),
        form_dir=None,
        baseline_dir=None,
        baseline_form_dir=None,
        prompt_tokens=world.tokens,
        new_tokens=16,
        least_passes=3,
        most_passes=5,
        half_width=0.05,
        seed=SEED,
        cpu_power=None,
        carbon_intensity=None,
    )
    told = speed.run(request, silent_report())
    return {row["metric"]: float(row["value"]) for row in told["measurements"]}


def as_row(tried: Tried) -> dict[str, Any]:
    """As it is written."""
    return asdict(tried)
