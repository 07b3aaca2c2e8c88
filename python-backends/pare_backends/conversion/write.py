"""Writes a converted checkpoint: its packed layers in a format, everything else as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint import read
from pare_backends.checkpoint.files import write_tensors
from pare_backends.checkpoint.forms import CONFIG_KEYS
from pare_backends.checkpoint.forms.floats import half
from pare_backends.checkpoint.size import float_values
from pare_backends.conversion.files_format import FilesFormat, Source
from pare_backends.failures import StageFailure
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report


def read_source(directory: str | Path) -> Source:
    """A written artifact, its float tensors unread."""
    root = Path(directory)
    checkpoint = read(root)
    config = json.loads((root / "config.json").read_text())
    return Source(root, config, checkpoint, layout_of(root))


def require_held(source: Source, form: FilesFormat) -> None:
    """Raises where the format cannot hold the artifact: before any work."""
    why = form.refusal(source)
    if why is not None:
        raise StageFailure("invalid", f"Cannot write {form.NAME} files: {why}")


def convert(source: Source, form: FilesFormat, output: Path, report: Report) -> int:
    """Writes the directory.

    returns: bytes of its weights by the format's formula
    """
    require_held(source, form)
    config = form.configuration(source)
    output.mkdir(parents=True, exist_ok=True)
    with report.span("convert"):
        write_tensors(tensors(source, form, config, report), output)
    for companion in source.checkpoint.files:
        shutil.copyfile(companion, output / companion.name)
    for name, document in form.further_files(source).items():
        write_json(output / name, document)
    whole = {key: value for key, value in source.config.items() if key not in CONFIG_KEYS}
    # Last: a directory without it is no checkpoint, so a killed writer leaves none behind.
    write_json(output / "config.json", {**whole, "quantization_config": config})
    return formula_bytes(source, form)


def tensors(
    source: Source, form: FilesFormat, config: Mapping[str, Any], report: Report
) -> Iterator[tuple[str, np.ndarray]]:
    """Every tensor as it will lie in the files, one at a time."""
    checkpoint = source.checkpoint
    for done, (layer, tensor) in enumerate(source.grids.items(), start=1):
        for ending, values in form.parts(tensor, config).items():
            yield f"{layer}{ending}", values
        report.progress("pack", done, len(source.grids), "layers")
    for name in checkpoint.floats:
        yield name, half(checkpoint.floats[name])


def formula_bytes(source: Source, form: FilesFormat) -> int:
    """Bytes of all tensors; the files add only their headers."""
    checkpoint = source.checkpoint
    floats = sum(half_bytes(source, name) for name in checkpoint.floats)
    return floats + sum(form.formula_bytes(tensor) for tensor in source.grids.values())


def half_bytes(source: Source, name: str) -> int:
    """Bytes of a tensor of plain floats in float16."""
    return 2 * float_values(source.checkpoint, name)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """One JSON document, its keys in order."""
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
