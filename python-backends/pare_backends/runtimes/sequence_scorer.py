"""The process beside an evaluation that computes its logits in a runtime of one sequence.

Its environment holds no torch and no lm-eval, that of the evaluation no such runtime: token ids
come over a socket, logits go back. Started by `sequence_model.py`, ends when the other end is
closed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Protocol

import numpy as np

from pare_backends.failures import CallFailure
from pare_backends.runtimes.thread_count import ThreadCount
from pare_backends.runtimes.token_prefix import shared_length


class ScoringDecoder(Protocol):
    """One sequence, of which a beginning can be kept."""

    vocabulary: int
    threads: int
    context_tokens: int

    def make_context(self, tokens: int) -> None:
        """Room for so many tokens; the sequence is forgotten."""
        ...

    def keep(self, length: int) -> int:
        """Forgets the sequence but for its first tokens; how many are left."""
        ...

    def compute_with(self, threads: int) -> None: ...

    def append(self, tokens: np.ndarray, wanted: int) -> np.ndarray:
        """tokens: (n,) int64; returns: (wanted, vocabulary) float32, of the last"""
        ...

    def close(self) -> None: ...


class SequenceScorer:
    """Logits of whole sequences; a beginning that the one before had too is not computed again."""

    def __init__(self, decoder: ScoringDecoder) -> None:
        self._decoder = decoder
        self._alone, self._together = ThreadCount(decoder.threads), ThreadCount(decoder.threads)
        self._tokens = np.empty(0, np.int64)

    def logits(self, tokens: np.ndarray, wanted: int) -> np.ndarray:
        """Logits after each of the last `wanted` tokens.

        tokens: (n,) int64, n ≥ wanted ≥ 1; returns: (wanted, vocabulary) float32
        """
        shared = min(shared_length(self._tokens, tokens), len(tokens) - wanted)
        self._tokens = np.empty(0, np.int64)  # whatever fails below leaves nothing to rely on
        if len(tokens) > self._decoder.context_tokens:
            self._decoder.make_context(1 << (len(tokens) - 1).bit_length())
            shared = 0
        shared = self._decoder.keep(shared)
        new = tokens[shared:]
        count = self._alone if len(new) == 1 else self._together
        threads = count.choose()
        self._decoder.compute_with(threads)
        started = time.perf_counter()
        found = self._decoder.append(new, wanted)
        count.took(threads, (time.perf_counter() - started) / len(new))
        self._tokens = tokens
        return found


def serve(connection: Connection, open_decoder: Callable[[], ScoringDecoder]) -> None:
    """Answers until the other end is closed. Each answer is two messages: what failed as JSON,
    empty where nothing did, and bytes. The first tells the vocabulary, unasked; then a request is
    int64: how many logits are wanted, and the tokens."""
    try:
        with closing(open_decoder()) as decoder:
            scorer = SequenceScorer(decoder)
            answer = np.array([decoder.vocabulary], np.int64)
            while True:
                connection.send_bytes(b"")
                connection.send_bytes(answer.data)
                asked = np.frombuffer(connection.recv_bytes(), np.int64)
                answer = scorer.logits(asked[1:], int(asked[0]))
    except CallFailure as failure:
        connection.send_bytes(json.dumps([failure.kind, failure.message, failure.hint]).encode())
    except (EOFError, ConnectionError):
        return
