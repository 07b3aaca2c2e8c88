"""A sequence in a context of llama.cpp's kind: the part that its forks share.

Imports numpy alone. A context has room for a number of tokens, and computes a batch at once.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from pare_backends.failures import CallFailure

CONTEXT_TOKENS = 256
"""Of a timing: a larger context would take memory that nothing measured there uses."""
BATCH_TOKENS = 256
"""At most so many are computed at once: the logits of each may be kept, 0.2 to 0.5 MB."""


class SequenceContext(ABC):
    """One sequence, appended to a few tokens at a time."""

    vocabulary: int
    context_tokens: int
    _length: int
    """Tokens of the sequence so far."""

    @abstractmethod
    def _compute(self, ids: Any, count: int, wanted: Any) -> int:
        """Computes a batch behind the sequence. ids: (count,) int32; wanted: (count,) int8, of
        which tokens logits are kept. returns: llama_decode's status, 0 where it went well"""

    @abstractmethod
    def _logits(self) -> Any:
        """Where the logits of the last batch lie."""

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """Appends tokens, at most `BATCH_TOKENS`; the last one's logits.

        tokens: (n,) int64; returns: (1, vocabulary) float32, valid until the next step
        """
        return self._decode(tokens, 1)

    def append(self, tokens: np.ndarray, wanted: int) -> np.ndarray:
        """Appends any number of tokens; the logits of the last `wanted`.

        tokens: (n,) int64; returns: (wanted, vocabulary) float32
        """
        parts = [tokens[i : i + BATCH_TOKENS] for i in range(0, len(tokens), BATCH_TOKENS)]
        left = len(tokens)
        found = []
        for part in parts:
            left -= len(part)
            rows = min(len(part), max(0, wanted - left))
            found.append(self._decode(part, rows).copy())
        return np.concatenate(found)

    def _decode(self, tokens: np.ndarray, wanted: int) -> np.ndarray:
        """returns: (wanted, vocabulary) float32, valid until the next decoding"""
        count = len(tokens)
        end = self._length + count
        if end > self.context_tokens:
            raise CallFailure(
                "bad_input",
                f"Cannot go on to {end} tokens: the context was made for {self.context_tokens}",
            )
        ids = (ctypes.c_int32 * count)(*tokens.tolist())  # the batch does not keep it alive
        flags = (ctypes.c_int8 * count)(*[0] * (count - wanted), *[1] * wanted)
        status = self._compute(ids, count, flags)
        if status != 0:
            raise CallFailure("crash", f"Cannot go on: llama_decode gave {status}")
        self._length = end
        if wanted == 0:
            return np.empty((0, self.vocabulary), np.float32)
        logits = ctypes.cast(self._logits(), ctypes.POINTER(ctypes.c_float))
        return np.ctypeslib.as_array(logits, shape=(wanted, self.vocabulary))
