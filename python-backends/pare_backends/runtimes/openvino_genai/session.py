"""A session of openvino_genai: the artifact's own integers under a paged cache, on the CPU.

Numerics of a speed figure are those of `openvino`: float32 inference, float32 keys and values, and
activations as the artifact declares them. Other settings of the cache are measured by `caches.py`.
"""

from __future__ import annotations

import gc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params
from pare_backends.runtimes.openvino_genai.engine import VERSION, Engine
from pare_backends.runtimes.openvino_genai.graph_folder import write_folder
from pare_backends.runtimes.openvino_genai.setting import Params

CONTEXT_TOKENS = 512
"""Of a timing: a larger pool would take memory that nothing measured there uses."""
STRICT = build_params(Params, {"kv_precision": "f32"})


class GenaiSession:
    """`Session` of runtimes/session.py."""

    device = "cpu"
    provenance = "measured"
    imports_torch = False

    def __init__(self, artifact_dir: str, form_dir: str, threads: int) -> None:
        self.weights_dir = artifact_dir
        self._room = TemporaryDirectory(prefix="pare-genai-")  # read from as long as it runs
        written = write_folder(form_dir, artifact_dir, Path(self._room.name))
        gc.collect()  # the graph's nodes refer to each other
        self._engine = Engine(
            Path(self._room.name), STRICT, written.activation_group, threads, CONTEXT_TOKENS
        )
        self.numerics = self._engine.numerics
        self.bytes_read_per_token = written.bytes_read_per_token
        self.notes = (*written.notes, f"{VERSION}, {threads} threads")
        self._last = -1

    def prefill(self, tokens: np.ndarray) -> int:
        self._last = self._engine.begin(tokens)
        return self._last

    def decode(self, token: int) -> int:
        if token != self._last:
            raise CallFailure(
                "bad_input",
                f"Cannot go on with token {token} in openvino_genai: it goes on with its own,"
                f" {self._last}",
            )
        self._last = self._engine.next()
        return self._last

    def gpu_peak_bytes(self) -> int | None:
        return None


def open_session(artifact_dir: str, form_dir: str, threads: int) -> GenaiSession:
    """Loads an artifact; costs three seconds for 135 M parameters."""
    return GenaiSession(artifact_dir, form_dir, threads)
