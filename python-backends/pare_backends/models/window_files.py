"""Files of what a model said of windows of text: one per window, named by the hash of its tokens,
each written whole or not at all, and made anew where it is damaged."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pare_backends.models.whole_file import save_whole

if TYPE_CHECKING:
    import torch

DISK_HINT = "Free space, or set PARE_HOME to a larger disk: what is kept so far is found again"


def content_hash(window: np.ndarray) -> str:
    """Of a window's tokens, their number included."""
    return hashlib.sha256(window.astype("<i4").tobytes()).hexdigest()[:32]


def readable(path: Path) -> bool:
    """Whether a file is there and whole; a damaged one is removed, to be made again."""
    if not path.exists():
        return False
    try:
        read_rows(path)
    except Exception:  # safetensors has an error type of its own
        path.unlink(missing_ok=True)
        return False
    return True


def read_rows(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a window's file."""
    from safetensors.torch import load_file

    return load_file(str(path))


def write_rows(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Writes a window's file, whole or not at all."""
    save_whole(path, tensors, "keep what the original says", DISK_HINT)
