"""What ik_llama.cpp computes with as it is timed."""

from __future__ import annotations

from pare_backends.runtimes.registry import writer_of
from pare_backends.runtimes.session import Numerics


def numerics_as_timed(directory: str) -> Numerics:
    """By the formats in the file: its blocks of rounded inputs are no larger than llama.cpp's."""
    described = writer_of("gguf", "gguf_directory").read_description(directory)
    return Numerics(described["inference_precision"], "f16", described["activation_group"])
