"""A GGUF file opened by llama.cpp under one setting after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pare_backends.knobs import build_params
from pare_backends.runtimes.cache_session import DecodedCache, OpenedCaches, why_no_threads
from pare_backends.runtimes.llama_cpp.decoder import LlamaCppDecoder
from pare_backends.runtimes.llama_cpp.gguf_directory import described_numerics
from pare_backends.runtimes.llama_cpp.library import api
from pare_backends.runtimes.llama_cpp.setting import Params


class LlamaCppCache(DecodedCache):
    """`CacheSession` of runtimes/cache_session.py."""

    def __init__(self, form_dir: str, params: Params, threads: int, tokens: int) -> None:
        count = params.threads or threads
        self._decoder = LlamaCppDecoder(form_dir, count, tokens, params, polls=True)
        self.numerics = described_numerics(form_dir, params)

    def _reset(self) -> None:
        self._decoder.reset()

    def _last_logits(self, tokens: np.ndarray) -> np.ndarray:
        return self._decoder.append(tokens, 1)[-1]

    def cache_bytes(self) -> int:
        return self._decoder.sequence_bytes()

    def close(self) -> None:
        self._decoder.close()


class LlamaCppCaches(OpenedCaches):
    """`Caches` of runtimes/cache_session.py."""

    version = f"llama-cpp-python {api.__version__}"
    bytes_method = "llama_state_seq_get_size: what the sequence takes where it is saved"

    def __init__(self, form_dir: str, threads: int) -> None:
        self._form_dir, self._threads = form_dir, threads

    def obstacle(self, values: Mapping[str, Any]) -> str | None:
        return why_no_threads(build_params(Params, values).threads, self._threads)

    def open(self, values: Mapping[str, Any], tokens: int) -> LlamaCppCache:
        return LlamaCppCache(self._form_dir, build_params(Params, values), self._threads, tokens)


def open_caches(artifact_dir: str, form_dir: str, threads: int) -> LlamaCppCaches:
    """The file is read anew for each setting: half a second for 135 M parameters."""
    return LlamaCppCaches(form_dir, threads)
