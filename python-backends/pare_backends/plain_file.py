"""What is read like a file must be one: a pipe would be waited for, a device read without end."""

from __future__ import annotations

from pathlib import Path

from pare_backends.failures import CallFailure


def require_file(path: Path) -> None:
    """Raises `CallFailure` for a folder, pipe or device; a missing file is left to the reader."""
    if path.exists() and not path.is_file():
        raise CallFailure("bad_input", f"Cannot read {path}: it is no file")
