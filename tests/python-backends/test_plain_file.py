"""A folder, a pipe and a device in a file's place are refused before any is opened: a pipe would be
waited for without end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

READERS = {
    "pare_backends.evaluation.published.parquet_rows import parquet_rows": "parquet_rows(path)",
    "pare_backends.evaluation.tasks.records import read_records": "read_records(path)",
    "pare_backends.models.gguf.reading import open_gguf": "open_gguf(path)",
    "pare_backends.quantization.mixing.others import Known, read_scores": (
        "read_scores(path, Known({}, {}, {}))"
    ),
}


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, device])
def test_no_reader_waits_for_what_is_no_file(make: Callable[[Path], None], tmp_path: Path) -> None:
    """In a process of its own: a library that opens a pipe heeds no signal of Python's."""
    path = tmp_path / "given"
    make(path)
    tries = "".join(
        f"from {imported}\ntry:\n    {call}\nexcept CallFailure as failure:\n"
        "    print(failure.message)\n"
        for imported, call in READERS.items()
    )
    head = "from pathlib import Path\nfrom pare_backends.failures import CallFailure\n"
    words = [sys.executable, "-c", f"{head}path = Path({str(path)!r})\n{tries}"]
    read = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    assert read.stdout.splitlines() == [f"Cannot read {path}: it is no file"] * len(READERS)
