"""A file of tensors, written whole or not at all: what stood there before stays until then."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pare_backends.failures import CallFailure, is_disk_full, one_line

if TYPE_CHECKING:
    import torch


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
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except Exception as error:
        partial.unlink(missing_ok=True)
        if not is_disk_full(error):
            raise
        raise CallFailure(
            "disk_full",
            f"Cannot {attempt}: no space left on the disk of {path.parent} ({one_line(error)})",
            hint,
        ) from error
