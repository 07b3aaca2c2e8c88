"""What every runtime gives to the speed stage: a model that is ready to generate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pare_backends.failures import StageFailure
from pare_backends.knobs import unknown_name


@dataclass(frozen=True)
class Numerics:
    """Numbers that a runtime computes with (`Numerics` of `core/schemas/measurement.ts`)."""

    inference_precision: str
    kv_precision: str
    activation_group: int  # 0 = activations are not quantized


class Session(Protocol):
    """A loaded model. One sequence at a time; greedy."""

    numerics: Numerics
    device: str  # cpu or cuda
    provenance: str  # measured, or emulated where the stored format is not what runs
    bytes_read_per_token: int  # weights that one generated token needs, as the runtime holds them
    notes: tuple[str, ...]

    def prefill(self, tokens: np.ndarray) -> int:
        """Starts a new sequence with these tokens and returns the next one. tokens: (n,) int64."""
        ...

    def decode(self, token: int) -> int:
        """Appends one token and returns the next one."""
        ...

    def gpu_peak_bytes(self) -> int | None:
        """Largest memory on the GPU so far; None where there is none."""
        ...


RUNTIMES = ("llama.cpp", "openvino", "transformers", "vllm")


def open_session(runtime: str, artifact_dir: str, graph_dir: str | None, threads: int) -> Session:
    """Loads an artifact in a runtime; only that runtime's modules are imported.

    artifact_dir: for llama.cpp what `write_gguf` wrote of the artifact
    """
    if runtime == "openvino":
        if graph_dir is None:
            raise StageFailure(
                "bad_input",
                "Cannot open the runtime openvino: graph_dir is null, it needs an exported graph",
            )
        from pare_backends.runtimes.openvino.session import open_openvino

        return open_openvino(artifact_dir, graph_dir, threads)
    if runtime == "transformers":
        from pare_backends.runtimes.transformers.session import open_transformers

        return open_transformers(artifact_dir)
    if runtime == "llama.cpp":
        from pare_backends.runtimes.llama_cpp.session import open_llama_cpp

        return open_llama_cpp(artifact_dir, threads)
    if runtime == "vllm":
        from pare_backends.runtimes.vllm.session import open_vllm

        return open_vllm(artifact_dir)
    raise StageFailure("bad_input", unknown_name("runtime", runtime, list(RUNTIMES)))
