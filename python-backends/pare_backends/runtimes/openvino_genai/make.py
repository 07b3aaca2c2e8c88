"""Makes the form of openvino_genai: the same graph without weights that `openvino` runs."""

from pare_backends.runtimes.openvino.make import make

__all__ = ["make"]
