"""The process beside an evaluation that computes its logits in llama.cpp.

Its environment holds no torch and no lm-eval, that of the evaluation no llama.cpp: token ids come
over a socket, logits go back. Started by `model.py`, ends when the other end is closed.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import closing
from multiprocessing.connection import Connection

import numpy as np

from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params
from pare_backends.runtimes.llama_cpp.decoder import AS_TIMED, LlamaCppDecoder
from pare_backends.runtimes.llama_cpp.setting import Params
from pare_backends.runtimes.llama_cpp.thread_count import ThreadCount
from pare_backends.runtimes.llama_cpp.token_prefix import shared_length


class SequenceScorer:
    """Logits of whole sequences; a beginning that the one before had too is not computed again."""

    def __init__(self, decoder: LlamaCppDecoder) -> None:
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


def serve(connection: Connection, directory: str, threads: int, params: Params = AS_TIMED) -> None:
    """Answers until the other end is closed. Each answer is two messages: what failed as JSON,
    empty where nothing did, and bytes. The first tells the vocabulary, unasked; then a request is
    int64: how many logits are wanted, and the tokens."""
    try:
        threads = params.threads or threads
        with closing(LlamaCppDecoder(directory, threads, params=params)) as decoder:
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


if __name__ == "__main__":
    form_dir, thread_count, setting, descriptor = sys.argv[1:]
    serve(
        Connection(int(descriptor)),
        form_dir,
        int(thread_count),
        build_params(Params, json.loads(setting)),
    )
