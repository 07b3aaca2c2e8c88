"""Writes a converted checkpoint: its packed layers in a format, everything else as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint import BitmaskTensor, Checkpoint, read
from pare_backends.checkpoint.files import write_tensors
from pare_backends.checkpoint.forms import CONFIG_KEYS
from pare_backends.checkpoint.size import float_bytes as bytes_of
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.conversion.files_format import FilesFormat, Source
from pare_backends.failures import CallFailure
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report


def read_source(directory: str | Path) -> Source:
    """A written artifact, its float tensors unread."""
    root = Path(directory)
    checkpoint = read(root)
    config = json.loads((root / "config.json").read_text())
    layout = layout_of(root)
    pruned = frozenset(checkpoint.in_form(BitmaskTensor))
    dense = written_out(replace(checkpoint, renamed=layout.renamed))
    return Source(root, config, dense, layout, pruned)


def written_out(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint with its pruned layers as floats, zeros and all: no other library reads a
    bitmask."""
    pruned = checkpoint.in_form(BitmaskTensor)
    stored = {name: held for name, held in checkpoint.stored.items() if name not in pruned}
    dense = {f"{layer}.weight": held.dense() for layer, held in pruned.items()}
    floats = checkpoint.floats
    whole = floats.with_made(dense) if isinstance(floats, StoredTensors) else {**floats, **dense}
    return replace(checkpoint, stored=stored, floats=whole)


def told_of_zeros(source: Source, own_type: bool) -> list[str]:
    """What a user must know of pruned layers, in words. own_type: floats keep the model's type"""
    if not source.written_out:
        return []
    rounded = own_type and source.checkpoint.dtype == "bfloat16"
    lost = ", rounded from float16 to bfloat16" if rounded else ""
    return [
        f"{len(source.written_out)} pruned layers are written with their zeros{lost}, as the format"
        " has no form without them: the files take what they would unpruned"
    ]


def require_held(source: Source, form: FilesFormat) -> None:
    """Raises where the format cannot hold the artifact: before any work."""
    why = form.refusal(source)
    if why is not None:
        raise CallFailure("invalid", f"Cannot write {form.NAME} files: {why}")


def convert(source: Source, form: FilesFormat, output: Path, report: Report) -> int:
    """Writes the directory.

    returns: bytes of its weights by the format's formula
    """
    require_held(source, form)
    config = form.configuration(source)
    output.mkdir(parents=True, exist_ok=True)
    for name, document in form.further_files(source).items():
        write_json(output / name, document)
    write_files(source, packed_parts(source, form, config, report), config, output, report)
    return formula_bytes(source, form)


def write_files(
    source: Source,
    packed: Iterable[tuple[str, np.ndarray]],
    config: Mapping[str, Any],
    output: Path,
    report: Report,
) -> None:
    """The directory: the packed layers' parts, floats as they are, and what goes beside them.

    config: `quantization_config` of config.json; empty: it has none, as nothing is packed
    """
    output.mkdir(parents=True, exist_ok=True)
    checkpoint = source.checkpoint
    floats = ((name, checkpoint.kept_floats(name)) for name in checkpoint.floats)
    with report.span("convert"):
        write_tensors(chain(packed, floats), output)
    for companion in checkpoint.files:
        shutil.copyfile(companion, output / companion.name)
    # Last: a directory without it is no checkpoint, so a killed writer leaves none behind.
    said = {"quantization_config": config} if config else {}
    write_json(output / "config.json", {**plain_config(source), **said})


def plain_config(source: Source) -> dict[str, Any]:
    """config.json without what it says of stored forms."""
    return {key: value for key, value in source.config.items() if key not in CONFIG_KEYS}


def packed_parts(
    source: Source, form: FilesFormat, config: Mapping[str, Any], report: Report
) -> Iterator[tuple[str, np.ndarray]]:
    """Every part of the packed layers as it will lie in the files, one at a time."""
    for done, (layer, tensor) in enumerate(source.grids.items(), start=1):
        for ending, values in form.parts(tensor, config).items():
            yield f"{layer}{ending}", values
        report.progress("pack", done, len(source.grids), "layers")


def formula_bytes(source: Source, form: FilesFormat) -> int:
    """Bytes of all tensors; the files add only their headers."""
    return float_bytes(source) + sum(form.formula_bytes(one) for one in source.grids.values())


def float_bytes(source: Source, dtype: str | None = None) -> int:
    """Bytes of all plain floats. dtype: the files' own; None: the artifact's"""
    checkpoint = source.checkpoint
    return sum(bytes_of(checkpoint, name, dtype) for name in checkpoint.floats)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """One JSON document, its keys in order."""
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
