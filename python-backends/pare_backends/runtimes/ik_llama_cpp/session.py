"""A session of ik_llama.cpp, of a directory with a GGUF file and its description."""

from __future__ import annotations

from pare_backends.runtimes.decoder_session import DecoderSession
from pare_backends.runtimes.ik_llama_cpp.decoder import IkLlamaCppDecoder
from pare_backends.runtimes.ik_llama_cpp.library import VERSION
from pare_backends.runtimes.ik_llama_cpp.numerics import numerics_as_timed
from pare_backends.runtimes.registry import writer_of


class IkLlamaCppSession(DecoderSession):
    """`Session` of runtimes/session.py, of a directory that `make.py` filled."""

    def __init__(self, directory: str, threads: int) -> None:
        self.weights_dir = directory
        described = writer_of("gguf", "gguf_directory").read_description(directory)
        self.numerics = numerics_as_timed(directory)
        self.bytes_read_per_token = int(described["bytes_read_per_token"])
        version = f"ik-llama-cpp-python {VERSION}, {threads} threads"
        self.notes = (*described["notes"], version)
        super().__init__(IkLlamaCppDecoder(directory, threads))


def open_session(
    artifact_dir: str, form_dir: str, threads: int, precision: str | None = None
) -> IkLlamaCppSession:
    """Loads a GGUF file; half a second for 135 M parameters. The file has the precision."""
    return IkLlamaCppSession(form_dir, threads)
