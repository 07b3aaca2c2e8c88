"""A file written whole or not at all: what stood there before stays until then."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pare_backends.failures import CallFailure, is_disk_full, one_line

if TYPE_CHECKING:
    import torch


def put_in_place(partial: Path, path: Path) -> None:
    """Gives a written file its name: after a power cut too it is there whole or not at all, and
    with it the names of the folders down to it that may be new."""
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(path)
    for folder in (path.parent, path.parent.parent):
        _sync_names(folder)


def _sync_names(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # a file system that syncs no folders keeps their names with the files
    finally:
        os.close(descriptor)


def save_whole(
    path: Path,
    tensors: Mapping[str, torch.Tensor],
    attempt: str,
    hint: str,
    metadata: dict[str, str] | None = None,
) -> None:
    """Writes safetensors beside `path` and puts them in its place once they are on the disk.

    attempt: what was tried, in words that follow "Cannot"; hint: what to do on a full disk

    raises: CallFailure "disk_full"
    """
    from safetensors.torch import save_file

    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        save_file(dict(tensors), str(partial), metadata=metadata)
        put_in_place(partial, path)
    except Exception as error:
        partial.unlink(missing_ok=True)
        if not is_disk_full(error):
            raise
        raise CallFailure(
            "disk_full",
            f"Cannot {attempt}: no space left on the disk of {path.parent} ({one_line(error)})",
            hint,
        ) from error
