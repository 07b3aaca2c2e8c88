"""A model's weights as a directory of floats, from wherever its name led."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pare_backends.checkpoint.own_files import check_directory
from pare_backends.elsewhere.decoded import decode_folder, is_packed
from pare_backends.elsewhere.text_part import text_config, write_text_part
from pare_backends.elsewhere.written import Converted
from pare_backends.failures import CallFailure
from pare_backends.models.sources import TINY_VARIABLE, Source
from pare_backends.progress import Report


def make_baseline(source: Source, output: Path, report: Report) -> tuple[Path, Converted | None]:
    """(directory of the baseline, what was converted; None: nothing was). Weights that must be
    converted or trained are written to `output`."""
    given = source.path if source.path is not None and source.path.is_dir() else None
    text, packed = None, False
    if given is not None:
        check_directory(given)  # before any of its files is read
        text, packed = text_config(given), is_packed(given)
        if text is None and not packed:
            return given, None
    if output.exists() and any(output.iterdir()):
        raise CallFailure(
            "bad_input", f"Cannot write the imported model to {output}: it is not empty"
        )
    output.mkdir(parents=True, exist_ok=True)
    if given is not None and packed:
        return output, decode_folder(given, output, report)
    if given is not None:
        with report.span("text_part"):
            return output, write_text_part(given, text, output, report)
    trained = os.environ.get(TINY_VARIABLE)
    if source.path is None and trained is not None:
        shutil.copytree(trained, output, dirs_exist_ok=True)
        return output, None
    if source.path is None:
        from pare_backends.models.tiny import train_tiny

        with report.span("train_tiny"):
            return train_tiny(output, report), None
    from pare_backends.models.gguf.file import convert_gguf

    if source.kind == "demo":
        from pare_backends.models.gguf.demo_original import SAID, make_original

        _, notes = convert_gguf(source.path, output, report, make_original)
        return output, ("float16", [SAID, *notes])
    return output, convert_gguf(source.path, output, report)
