"""A session of llama.cpp, of a directory with a GGUF file and its description."""

from __future__ import annotations

from pare_backends.runtimes.decoder_session import DecoderSession
from pare_backends.runtimes.llama_cpp.decoder import AS_TIMED, LlamaCppDecoder
from pare_backends.runtimes.llama_cpp.gguf_directory import described_numerics, read_description
from pare_backends.runtimes.llama_cpp.library import api, processor


class LlamaCppSession(DecoderSession):
    """`Session` of runtimes/session.py, of a directory that `make.py` filled."""

    def __init__(self, directory: str, threads: int) -> None:
        self.weights_dir = directory
        described = read_description(directory)
        self.numerics = described_numerics(directory, AS_TIMED)
        self.bytes_read_per_token = int(described["bytes_read_per_token"])
        built_for = "" if processor is None else f", built for {processor}"
        version = f"llama-cpp-python {api.__version__}{built_for}, {threads} threads"
        self.notes = (*described["notes"], version)
        super().__init__(LlamaCppDecoder(directory, threads, polls=True))


def open_session(
    artifact_dir: str, form_dir: str, threads: int, precision: str | None = None
) -> LlamaCppSession:
    """Loads a GGUF file; half a second for 135 M parameters. The file has the precision."""
    return LlamaCppSession(form_dir, threads)
