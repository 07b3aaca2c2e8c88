"""How many bytes a model's cache of keys and values takes, by the length of what it has read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from pare_backends.measuring.speed_figures import measurement
from pare_backends.runtimes.session import Session

if TYPE_CHECKING:
    from pare_backends.cache.kept import KeptTokens

LENGTHS = (128, 512, 1024, 2048, 4096)
"""Tokens; a model of full attention reads 4,096 in tens of seconds on two cores."""
BLOCK = 256
"""Tokens that are read in one pass."""


@runtime_checkable
class CountsCache(Protocol):
    """A session whose cache can be looked at."""

    def prefill(self, tokens: np.ndarray) -> int:
        """As in `Session`."""
        ...

    def append(self, tokens: np.ndarray) -> int:
        """Reads more of the sequence. tokens: (n,) int64"""
        ...

    def cache_bytes(self) -> int:
        """Bytes of the memory behind the keys and values of the sequence so far."""
        ...

    def kept_tokens(self) -> KeptTokens:
        """Tokens of the sequence so far that are kept, by layer."""
        ...

    @property
    def reads_in_parts(self) -> bool:
        """Whether a prompt may be read in several passes."""
        ...


def lengths_up_to(context: int) -> list[int]:
    """The lengths at which a model that reads so many tokens is measured: its own where that is
    below the first."""
    return [length for length in LENGTHS if length <= context] or [context]


def cache_rows(
    runtime: str, session: Session, context: int, vocabulary: int, seed: int
) -> list[dict[str, Any]]:
    """`kv_bytes` at each context length, as measurements; the last also as the trial's own. None of
    a runtime that cannot tell.

    context: tokens that the model reads; seed: draws the tokens: which of them a policy keeps
    depends on them, how many does not
    """
    if not isinstance(session, CountsCache):
        return []
    lengths = lengths_up_to(context)
    tokens = np.random.default_rng(seed).integers(0, vocabulary, lengths[-1], dtype=np.int64)
    rows, start = [], 0
    for length in lengths:
        if session.reads_in_parts:
            while start < length:
                end = min(start + BLOCK, length)
                read = session.prefill if start == 0 else session.append
                read(tokens[start:end])
                start = end
            parts = f"{BLOCK} at a time"
        else:
            session.prefill(tokens[:length])
            parts = "at once"
        how = (
            f"memory behind the cache's tensors after {length} drawn tokens, {parts}: "
            f"{session.kept_tokens().words()}"
        )
        row = measurement(runtime, session, "kv_bytes", session.cache_bytes(), how)
        # It is what runs, whatever form the weights had on disk.
        rows.append({**row, "provenance": "measured", "slice": f"{length} tokens"})
    return [*rows, {**rows[-1], "slice": None}]
