"""A session of a runtime on the CPU that appends tokens to one sequence and gives their logits."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class SequenceDecoder(Protocol):
    """One sequence, appended to."""

    def reset(self) -> None:
        """Forgets the sequence."""
        ...

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """Appends tokens (n,) int64; logits whose last row is the last token's."""
        ...


class DecoderSession:
    """The part of `Session` of runtimes/session.py that follows from a decoder."""

    device = "cpu"
    provenance = "measured"
    imports_torch = False

    def __init__(self, decoder: SequenceDecoder) -> None:
        self._decoder = decoder

    def prefill(self, tokens: np.ndarray) -> int:
        self._decoder.reset()
        return int(self._decoder.step(tokens)[-1].argmax())

    def decode(self, token: int) -> int:
        return int(self._decoder.step(np.array([token], np.int64))[-1].argmax())

    def gpu_peak_bytes(self) -> int | None:
        return None
