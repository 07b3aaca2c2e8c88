"""A checkpoint made elsewhere by its path, verified to be one of the model at hand."""

from __future__ import annotations

from pathlib import Path

from pare_backends.checkpoint import Checkpoint
from pare_backends.elsewhere.folder import open_folder
from pare_backends.elsewhere.gguf_file import open_gguf_file
from pare_backends.elsewhere.given import Given, refused
from pare_backends.elsewhere.same_model import check_same
from pare_backends.models.layout import Layout


def open_given(path: Path, name: str, original: Path, source: Checkpoint, layout: Layout) -> Given:
    """A GGUF file or a directory; `CallFailure` in one sentence where it is no checkpoint of the
    model, is damaged, or lacks a tensor.

    name: what the sentence calls it; source: the original, read from that directory
    """
    if path.is_dir():
        given = open_folder(path)
    elif path.suffix == ".gguf":
        given = open_gguf_file(path, original, source.dtype)
    else:
        raise refused(name, "it is neither a .gguf file nor a directory of safetensors")
    return check_same(name, given, original, source, layout)
