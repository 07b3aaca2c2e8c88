"""A model's weights as a directory of floats, from wherever its name led."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pare_backends.checkpoint.own_files import check_directory
from pare_backends.elsewhere.decoded import decode_folder, is_packed
from pare_backends.failures import CallFailure
from pare_backends.models.sources import TINY_VARIABLE, Source
from pare_backends.progress import Report

Converted = tuple[str, list[str]]
"""The type of the weights as they were given, and what of the file is left out."""


def make_baseline(source: Source, output: Path, report: Report) -> tuple[Path, Converted | None]:
    """(directory of the baseline, what was converted; None: nothing was). Weights that must be
    converted or trained are written to `output`."""
    there = source.path is not None and source.path.is_dir()
    if source.path is not None and there:
        check_directory(source.path)  # before any of its files is read
    if source.path is not None and there and not is_packed(source.path):
        return source.path, None
    if output.exists() and any(output.iterdir()):
        raise CallFailure(
            "bad_input", f"Cannot write the imported model to {output}: it is not empty"
        )
    output.mkdir(parents=True, exist_ok=True)
    trained = os.environ.get(TINY_VARIABLE)
    if source.path is None and trained is not None:
        shutil.copytree(trained, output, dirs_exist_ok=True)
        return output, None
    if source.path is None:
        from pare_backends.models.tiny import train_tiny

        with report.span("train_tiny"):
            return train_tiny(output, report), None
    if source.path.is_dir():
        return output, decode_folder(source.path, output, report)
    from pare_backends.models.gguf.file import convert_gguf

    if source.kind == "demo":
        from pare_backends.models.gguf.demo_original import SAID, make_original

        _, notes = convert_gguf(source.path, output, report, make_original)
        return output, ("float16", [SAID, *notes])
    return output, convert_gguf(source.path, output, report)
