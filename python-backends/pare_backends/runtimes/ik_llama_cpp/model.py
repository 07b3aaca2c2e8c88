"""A GGUF file in ik_llama.cpp in the place of a torch model."""

from __future__ import annotations

from pare_backends.runtimes.ik_llama_cpp.numerics import numerics_as_timed
from pare_backends.runtimes.sequence_model import SequenceModel

SCORER = "pare_backends.runtimes.ik_llama_cpp.scorer"


def open_model(
    artifact_dir: str, form_dir: str, python: str, threads: int, precision: str | None = None
) -> SequenceModel:
    """`open_model` of runtimes/registry.py; starts a process of `python`. The file has the
    precision."""
    command = [python, "-m", SCORER, form_dir, str(threads)]
    return SequenceModel("ik_llama.cpp", artifact_dir, numerics_as_timed(form_dir), command)
