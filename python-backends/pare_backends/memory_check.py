"""Whether a model fits this machine, said before anything is loaded."""

from __future__ import annotations

from pare_backends.failures import CallFailure
from pare_backends.machine import memory_bytes

FLOAT_BYTES = 4  # a parameter in memory: float32
OVERHEAD_BYTES = 600_000_000  # torch, transformers and their buffers


def check_memory(name: str, weight_bytes: int) -> None:
    """Raises where the float32 weights do not fit the machine's memory."""
    needed = weight_bytes + OVERHEAD_BYTES
    found, _ = memory_bytes()
    if needed > found:
        raise CallFailure(
            "bad_input",
            f'Cannot load the model "{name}": it needs {needed / 1e9:.1f} GB of memory in float32,'
            f" found {found / 1e9:.1f} GB",
            hint="Use a smaller model or a larger machine",
        )
