"""What is found of written files, read back in a process that did not write them: facts for a gate.

The layers are multiplied out twice: by the format's own reading here, and by the library that the
files are for, where it is installed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.files import tensor_entries, weight_files
from pare_backends.checkpoint.forms.floats import read_back
from pare_backends.checkpoint.load import inputs_as_they_are, load_model, load_tokenizer
from pare_backends.checkpoint.soundness import (
    NOT_FINITE,
    cosine,
    generate,
    logits_of,
    mean_kl,
    prompt_ids,
)
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.conversion.files_format import (
    Decoded,
    FilesFormat,
    Grid,
    Opened,
    Source,
    decoded_grid,
)
from pare_backends.failures import CallFailure
from pare_backends.progress import Report

PROBES = 8
"""Random inputs that a library's layer is tried with."""
FUSED = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))
"""Layers that a runtime which fuses them, such as vLLM, loads as one."""


NOTHING: dict[str, Any] = {
    "layers": [],
    "other_floats": [],
    "fused_apart": [],
    "tensor_bytes": 0,
    "formula_bytes": 0,
    "opened_by": None,
    "not_opened": None,
    "logits_cosine": None,
    "rounded_cosine": None,
    "rounded_kl": None,
    "plain_problem": None,
    "read_otherwise": None,
    "generated_text": "",
    "not_generated": None,
}
"""Facts of files that nothing could be read of."""


@dataclass(frozen=True)
class Written:
    """Files that were read back."""

    directory: Path
    config: Mapping[str, Any]  # quantization_config
    stored: StoredTensors

    @property
    def tensor_bytes(self) -> int:
        """Of all tensors, without the files' headers."""
        return sum(one.end - one.start for one in self.stored.entries.values())


def read_written(directory: Path, packed: bool = True) -> Written:
    """Raises `CallFailure` where a file is gone or damaged. packed: a layer must be"""
    path = directory / "config.json"
    if not path.is_file():
        raise CallFailure("bad_input", f"{directory} has no config.json")
    config = json.loads(path.read_text()).get("quantization_config", None if packed else {})
    if not isinstance(config, dict):
        raise CallFailure("bad_input", "config.json has no quantization_config")
    return Written(directory, config, StoredTensors(tensor_entries(weight_files(directory))))


def check_layers(
    written: Written, source: Source, form: FilesFormat, report: Report
) -> list[dict[str, Any]]:
    """`ConvertedLayer` of the wire for every packed layer of the source."""
    rows: list[dict[str, Any]] = []
    for done, layer in enumerate(source.grids, start=1):
        rows.append(check_layer(written, source, form, layer))
        report.progress("check", done, len(source.grids), "layers")
    return rows


def check_layer(written: Written, source: Source, form: FilesFormat, layer: str) -> dict[str, Any]:
    """One layer: what the configuration claims, what its parts hold, and how near they come."""
    tensor = source.grids[layer]
    shape = (int(tensor.ints.shape[0]), int(tensor.ints.shape[1]))
    row: dict[str, Any] = {"layer": layer, "cosine": None, "opened_cosine": None}
    try:
        claimed = normal(form.claimed(written.config, source.module(layer)), shape[1])
        row["claimed"] = said(claimed)
        found = normal(form.found(written.stored, layer, shape, written.config), shape[1])
        # Zero points may be stored of a symmetric layer; one said to be symmetric has none else.
        row["found"] = said(replace(found, symmetric=found.symmetric and claimed.symmetric))
        held, wanted = (
            form.decoded(written.stored, layer, claimed, written.config),
            decoded_grid(tensor),
        )
        row["problem"] = difference(held, wanted)
        if held.ints.shape == shape and held.scales.shape == held.zeros.shape:
            row["cosine"] = finite_cosine(held.weights(), wanted.weights())
        return row
    except (CallFailure, KeyError, TypeError, ValueError, IndexError) as error:
        problem = error.message if isinstance(error, CallFailure) else repr(error)
        return {"claimed": None, "found": None, **row, "problem": problem}


def difference(held: Decoded, wanted: Decoded) -> str | None:
    """What of a layer is not as in its source, in words; None: nothing is."""
    parts = {
        "integers": (held.ints, wanted.ints),
        "zero points": (held.zeros, wanted.zeros),
        "scales": (held.scales, wanted.scales),
    }
    other = [name for name, (own, source) in parts.items() if not np.array_equal(own, source)]
    return f"its {' and '.join(other)} are not those of its source" if other else None


def normal(grid: Grid, columns: int) -> Grid:
    """The grid with the whole row as -1, however it was said."""
    whole = grid.group_size in (-1, columns)
    return Grid(grid.bits, -1 if whole else grid.group_size, grid.symmetric)


def said(grid: Grid) -> str:
    """A grid in words, the same of equal ones."""
    groups = "a scale a row" if grid.group_size == -1 else f"groups of {grid.group_size}"
    zeros = "symmetric" if grid.symmetric else "with zero points"
    return f"{grid.bits} bits in {groups}, {zeros}"


def other_floats(written: Written, source: Source) -> list[str]:
    """Tensors of plain floats that the files lack or hold otherwise."""
    checkpoint = source.checkpoint

    def same(name: str) -> bool:
        wanted = read_back(checkpoint.kept_floats(name))
        return np.array_equal(written.stored[name], wanted, equal_nan=wanted.dtype.kind == "f")

    return [n for n in checkpoint.floats if n not in written.stored or not same(n)]


def fused_apart(layers: list[dict[str, Any]]) -> list[list[str]]:
    """Groups of layers that a runtime loads as one and that lie on different grids."""
    grids = {row["layer"]: row["claimed"] for row in layers}
    parents = {name.rsplit(".", 1)[0] for name in grids if "." in name}
    groups = [
        [f"{parent}.{own}" for own in members] for parent in sorted(parents) for members in FUSED
    ]
    return [
        group
        for group in groups
        if any(name in grids for name in group)
        and any(grids.get(name) != grids.get(group[0]) for name in group)
    ]


def opened_facts(
    open_files: Callable[[], Opened | None],
    read_back: Callable[[], Checkpoint],
    source: Source,
    layers: list[dict[str, Any]],
) -> dict[str, Any]:
    """What the files' own library makes of them; where none is installed, what the tensors as they
    are read here make of the model.

    Weights are compared with inputs as they are: two faithful roundings of inputs, a half rounded
    to either side, part the logits further than any weight that is wrong by a bit. How far they
    part them is a figure of its own.
    """
    reference = load_model(source.checkpoint, source.directory)
    tokenizer = load_tokenizer(source.directory)
    facts: dict[str, Any] = {"opened_by": None, "logits_cosine": None, "not_opened": None}
    model = None
    try:
        opened = open_files()
        if opened is not None:
            model = opened.model
            facts |= {"opened_by": opened.by, "logits_cosine": None}
            ids = prompt_ids(tokenizer)
            if opened.unrounded is not None:
                facts |= rounded_facts(logits_of(model, ids), logits_of(reference, ids))
                model = opened.unrounded()
            with inputs_as_they_are(reference):
                wanted = logits_of(reference, ids)
            facts["logits_cosine"] = finite_cosine(logits_of(model, ids), wanted)
            if facts["logits_cosine"] is None:
                facts["not_opened"] = NOT_FINITE
            if opened.plain is not None and facts["not_opened"] is None:
                facts["plain_problem"] = plain_problem(opened.plain, ids)
            # After a pass of the whole model: before it compressed-tensors' layers have no weights.
            try_layers(model, source, layers)
    except Exception as error:  # whatever a library raises is what there is to be said
        facts["not_opened"] = f"{type(error).__name__}: {error}"[:500]
    if model is None or facts["not_opened"] is not None:
        model = load_model(read_back(), source.directory)
    text, why = generate(model, tokenizer)
    return facts | {"generated_text": text, "not_generated": why}


def plain_problem(load: Callable[[], Any], ids: Any) -> str | None:
    """Why the files give no logits in the type that their config.json says; None: they do."""
    import torch

    try:
        model = load()
        dtype = str(model.dtype).removeprefix("torch.")
        with torch.inference_mode():
            finite = bool(torch.isfinite(model(ids).logits).all())
    except Exception as error:  # whatever a library raises is what there is to be said
        return f"{type(error).__name__}: {error}"[:300]
    return None if finite else f"in {dtype} {NOT_FINITE}"


def rounded_facts(own: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
    """How far logits part as each side rounds the inputs. own, wanted: (n, vocabulary)"""
    cosine = finite_cosine(own, wanted)
    return {
        "rounded_cosine": cosine,
        "rounded_kl": None if cosine is None else mean_kl(wanted, own),
    }


def as_read(written: Written, source: Source, form: FilesFormat) -> Checkpoint:
    """The model with every tensor as the files hold it, multiplied out."""
    floats: dict[str, np.ndarray] = {}
    for layer, tensor in source.grids.items():
        grid = form.claimed(written.config, source.module(layer))
        weights = form.decoded(written.stored, layer, grid, written.config).weights()
        floats[f"{layer}.weight"] = weights.T if tensor.transposed else weights
    floats |= {name: written.stored[name] for name in source.checkpoint.floats}
    return Checkpoint(source.checkpoint.config, (), {}, floats)


def try_layers(model: Any, source: Source, layers: list[dict[str, Any]]) -> None:
    """Notes the cosine of what each packed layer of an opened model gives for random inputs, left
    as they are, with what the source's weights give."""
    import torch

    if not isinstance(model, torch.nn.Module):
        return  # it has no layers to be tried by themselves
    draw = torch.Generator().manual_seed(0)
    modules = dict(model.named_modules())
    for row in layers:
        tensor = source.checkpoint.stored[row["layer"]]
        module = modules.get(source.module(row["layer"]))
        if module is None or not multiplies(module):
            continue
        matrix = tensor.weight().T if getattr(tensor, "transposed", False) else tensor.weight()
        inputs = torch.randn(PROBES, matrix.shape[1], generator=draw)
        zero = torch.zeros(1, matrix.shape[1])
        with torch.inference_mode():
            given = (module(inputs) - module(zero)).float().numpy()  # without the bias
        wanted = inputs.numpy() @ matrix.T
        row["opened_cosine"] = finite_cosine(given, wanted)
        if row["opened_cosine"] is None:
            row["problem"] = "the library's layer gives what is no number"


def multiplies(module: Any) -> bool:
    """Whether a module gives a matrix times its inputs: an embedding looks rows up."""
    from torch import nn

    return not isinstance(module, nn.Embedding)


def finite_cosine(own: np.ndarray, wanted: np.ndarray) -> float | None:
    """Cosine of two arrays; None where one holds what is no number."""
    found = cosine(own, wanted)
    return found if math.isfinite(found) and np.isfinite(own).all() else None
