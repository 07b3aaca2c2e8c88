"""Makes the form of ik_llama.cpp: the file of llama.cpp, from which it is a fork."""

from __future__ import annotations

from pathlib import Path

from pare_backends.progress import Report
from pare_backends.runtimes.registry import writer_of


def make(
    artifact: Path, output: Path, exact: bool, report: Report, precision: str = "f16"
) -> list[str]:
    """`make_form` of runtimes/registry.py."""
    notes: list[str] = writer_of("gguf", "make").make(artifact, output, exact, report, precision)
    return notes
