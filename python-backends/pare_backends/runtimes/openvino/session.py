"""A session of openvino: the artifact's own integers in a stateful graph on the CPU.

Imports `openvino` and numpy alone, so the process's peak memory is the runtime's.

Numerics of every speed figure: float32 inference and KV cache, and activations as they are, so
that the figure belongs to the very computation whose quality was measured on the dequantized
weights. An artifact that declares 8-bit activations runs with its own groups. OpenVINO knows one
size for all layers, and leaves an input unquantized that it does not divide: where the declared
ones differ (whole rows of several lengths), it runs with the largest that divides them all.
OpenVINO's own defaults (bf16, f16 KV cache, activations quantized in groups of 32) are faster and
change the answers: a KL divergence of about 7e-3 for 4-bit weights.
"""

from __future__ import annotations

import gc

from pare_backends.runtimes.decoder_session import DecoderSession
from pare_backends.runtimes.openvino.compiled import (
    Decoder,
    compile_graph,
    read_numerics,
    standard_numerics,
)
from pare_backends.runtimes.openvino.graph_weights import build_model
from pare_backends.runtimes.openvino.input_rounding import notes_in_force


class OpenvinoSession(DecoderSession):
    """`Session` of runtimes/session.py."""

    def __init__(
        self, artifact_dir: str, form_dir: str, threads: int, precision: str | None
    ) -> None:
        self.weights_dir = artifact_dir
        graph = build_model(form_dir, artifact_dir, last_only=True)
        wanted = standard_numerics(graph, precision)
        compiled = compile_graph(graph, wanted, threads)
        self.numerics = read_numerics(compiled)
        # Matrices of floats are turned to bfloat16 as they are compiled.
        halves = self.numerics.inference_precision == "bf16" and not graph.packed
        self.bytes_read_per_token = graph.bytes_read_per_token // (2 if halves else 1)
        self.notes = notes_in_force(graph.activation_group, graph.notes)
        super().__init__(Decoder(compiled))
        del graph
        gc.collect()  # the graph's nodes refer to each other


def open_session(
    artifact_dir: str, form_dir: str, threads: int, precision: str | None = None
) -> OpenvinoSession:
    """Loads an artifact; costs about a second for 135 M parameters."""
    return OpenvinoSession(artifact_dir, form_dir, threads, precision)
