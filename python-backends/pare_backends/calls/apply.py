"""Call `apply`: one action; reads the parent directory, writes the child's."""

from __future__ import annotations

import importlib
import resource
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from pare_backends.checkpoint import (
    Checkpoint,
    formula_bytes,
    read,
    weight_bits,
    weight_files,
    write,
)
from pare_backends.checkpoint.forms import GridTensor
from pare_backends.checkpoint.setting import NewSetting, Setting, write_setting
from pare_backends.failures import CallFailure
from pare_backends.knobs import KnobDescription, build_params, unknown_name
from pare_backends.measuring.action_energy import ActionEnergy
from pare_backends.measuring.energy_tables import CpuPower
from pare_backends.method_file import load_method_file, methods_in
from pare_backends.methods.context import Context
from pare_backends.methods.figures import checked
from pare_backends.models.artifact_notes import float_parts, left_in_floats, other_loaders
from pare_backends.models.facts import checkpoint_shapes, own_facts
from pare_backends.models.layout import Layout, layout_of
from pare_backends.progress import Report

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class ApplyRequest:
    """`apply` of the wire."""

    parent_dir: str
    output_dir: str
    agent: str
    method: str
    params: dict[str, Any]
    calibration_path: str | None
    seed: int
    python_path: str | None
    training_path: str | None = None
    work_dir: str | None = None
    parent_id: str | None = None
    """Id of the artifact in `parent_dir`: a setting names its weights by it."""
    original_dir: str | None = None
    """The study's uncompressed model, for a method that learns from it."""
    student_dir: str | None = None
    """The smaller model that the user named, where it may take the original's place."""
    original_cache: str | None = None
    """What that model answers, kept for every action that learns from it."""
    reference_dir: str | None = None
    """The model before what rounded or pruned the parent, for a method that leads back to it."""
    layer_cache: str | None = None
    """Rounded layers, kept for every action that puts them together."""
    given_path: str | None = None
    """A checkpoint made elsewhere, for a method that takes one."""
    tool_python: str | None = None
    """Interpreter of the environment of the program that the method runs beside."""
    device: str = "cpu"
    """Whose energy is counted: cpu or cuda."""
    cpu_power: CpuPower | None = None
    """By which an estimate of it counts; None: an unknown processor."""
    beside: bool = False
    """Other calls may compute meanwhile."""
    knobs: list[KnobDescription] | None = None
    """What a third party's method declares; absent: the method is pare's."""


def run(request: ApplyRequest, report: Report) -> dict[str, Any]:
    """What was written: bytes on disk and by formula, bits, the model that it is now, peak memory
    of this process."""
    module = method_module(request)
    params = build_params(module.Params, request.params, request.knobs)
    output = Path(request.output_dir)
    if output.exists() and any(output.iterdir()):
        raise CallFailure("bad_input", f"Cannot write to {output}: it is not empty")
    with report.span("read"):
        parent = read(request.parent_dir)
    with report.span("layout", library=True):
        layout = layout_of(request.parent_dir)
    parent = replace(parent, renamed=layout.renamed)
    context = context_of(request, layout, report)
    energy = ActionEnergy(request.device, request.cpu_power, request.beside)
    made: Checkpoint | NewSetting = module.apply(parent, params, context)
    joules, how = energy.so_far()
    child = parent if isinstance(made, NewSetting) else without_copy(made, layout)
    check_child(parent, child)
    figures = [*checked(context.figures), *map(asdict, joules)]
    with report.span("write"):
        report.progress("write", 0, 1, "checkpoints")
        if isinstance(made, NewSetting):
            weights = weight_files(request.parent_dir)
            files = [*weights, write_setting(setting_of(request, made), output)]
        else:
            files = write(child, output)
        report.progress("write", 1, 1, "checkpoints")
    with report.span("facts"):
        own, model = written_model(request, parent, child, layout)
    others, floats = other_loaders(child, own), float_parts(child, own)
    own_loader = bool(others) or isinstance(made, NewSetting)
    grid = child.in_form(GridTensor).values()
    declared = {t.activation_bits for t in grid if t.activation_bits}
    return {
        "size_bytes": sum(path.stat().st_size for path in files),
        "formula_bytes": formula_bytes(child),
        "weight_bits": weight_bits(child, own.linear),
        "activation_bits": min(declared) if declared else None,
        "stored_layers": sum(t is not parent.stored.get(n) for n, t in child.stored.items()),
        "peak_memory_bytes": peak_memory(),
        "notes": [*others, *context.notes, how, left_in_floats(floats, formula_bytes(child))],
        "floats": floats,
        "loader": "pare" if own_loader else "transformers",
        "model": model,
        "figures": figures,
    }


def context_of(request: ApplyRequest, layout: Layout, report: Report) -> Context:
    """What the method is given beside the checkpoint and its knobs."""

    def path(name: str | None) -> Path | None:
        return None if name is None else Path(name)

    return Context(
        Path(request.parent_dir),
        layout,
        report,
        request.seed,
        calibration_path=path(request.calibration_path),
        training_path=path(request.training_path),
        work_dir=path(request.work_dir),
        original_dir=path(request.original_dir),
        original_cache=path(request.original_cache),
        student_dir=path(request.student_dir),
        reference_dir=path(request.reference_dir),
        layer_cache=path(request.layer_cache),
        given_path=path(request.given_path),
        tool_python=request.tool_python,
    )


def setting_of(request: ApplyRequest, made: NewSetting) -> Setting:
    """What a method gave back, with the names that a reader finds it by."""
    if request.parent_id is None:
        raise CallFailure(
            "bad_input", "Cannot write a setting: parent_id is missing, the id of its weights"
        )
    if request.python_path is not None:
        raise CallFailure(
            "invalid",
            f"Cannot write a setting of {request.method}: pare reads settings of its own methods"
            " alone, as the file names no code of a third party",
        )
    return Setting(request.agent, request.method, made.values, request.parent_id)


def written_model(
    request: ApplyRequest, parent: Checkpoint, child: Checkpoint, layout: Layout
) -> tuple[Layout, dict[str, Any]]:
    """(layout of the child, its own facts), from its config.json and the shapes of its tensors.

    layout: the parent's, and the child's too where neither configuration nor names changed
    """
    shapes, own, directory = checkpoint_shapes(child), layout, request.parent_dir
    if child.config != parent.config or set(shapes) != set(checkpoint_shapes(parent)):
        own, directory = layout_of(request.output_dir), request.output_dir
    facts = own_facts(directory, child.config, own, shapes)
    return own, {**facts, "weight_bytes": part_bytes(child, own, facts)}


def part_bytes(child: Checkpoint, layout: Layout, facts: dict[str, Any]) -> dict[str, int]:
    """Bytes of the parts of the model by the formulas of how they are stored."""
    # An adapter's factors lie beside linear layers alone.
    held = {"linear": child, "embedding": replace(child, adapter=None)}
    parts = {
        part: round(weight_bits(own, layout.part(part)) * facts[f"{part}_parameters"] / 8)
        for part, own in held.items()
    }
    return {**parts, "rest": formula_bytes(child) - sum(parts.values())}


def method_module(request: ApplyRequest) -> ModuleType:
    """The method's Python half: a file of this package, or the third party's at its path."""
    if request.python_path is not None:
        return load_method_file(Path(request.python_path))
    folder = PACKAGE / request.agent
    known = methods_in(folder)
    if request.method not in known:
        raise CallFailure("bad_input", unknown_name("method", request.method, known))
    return importlib.import_module(f"pare_backends.{request.agent}.{request.method}")


def without_copy(child: Checkpoint, layout: Layout) -> Checkpoint:
    """The checkpoint without the tied output head that files may hold beside the embedding: once
    the two differ transformers ties them no more, and the head would stay what it was."""
    if layout.head_copy is None:
        return child
    return replace(child, floats=child.without_floats({f"{layout.head_copy}.weight"}))


def check_child(parent: Checkpoint, child: Checkpoint) -> None:
    """Raises where a method gave back something that no reader could use, or changed what no method
    may change."""
    for name, tensor in child.stored.items():
        if tensor is not parent.stored.get(name):
            tensor.check(name)
    for name, tensor in parent.stored.items():
        if not tensor.REPLACEABLE and child.stored.get(name, tensor) is not tensor:
            raise CallFailure("crash", f"Cannot keep {name}: the method changed a packed tensor")


def peak_memory() -> int:
    """Highest resident memory of this process so far, in bytes (VmHWM)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
