"""A sequence in llama.cpp: the artifact's own integers in GGUF's blocks, on the CPU.

Imports `llama_cpp` and numpy alone. Its numerics are llama.cpp's: the inputs of packed weights are
rounded to 8 bits in blocks of 32, always, those of float16 matrices to float16. Where nobody sets
it, the KV cache is float16 and attention is computed block by block: what llama.cpp's own programs
do. Files are read into memory, not mapped: the peak memory of the process is then what the weights
take.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params
from pare_backends.runtimes.llama_cpp.gguf_directory import MODEL_FILE
from pare_backends.runtimes.llama_cpp.library import api
from pare_backends.runtimes.llama_cpp.setting import Params
from pare_backends.runtimes.llama_cpp.thread_pool import attach_pool

CONTEXT_TOKENS = 256
"""Of a timing: a larger context would take memory that nothing measured there uses."""
BATCH_TOKENS = 256
"""At most so many are computed at once: the logits of each may be kept, 0.2 to 0.5 MB."""
KINDS = {"f32": 0, "f16": 1, "q8_0": 8}
"""ggml's numbers of the types of a cache."""
AS_TIMED = Params()
STRICT = build_params(Params, {"kv_precision": "f32", "flash_attention": False})
"""Rounds no key and no value: for the proof that a file holds the artifact's weights."""


class LlamaCppDecoder:
    """One sequence in a llama.cpp context, appended to a few tokens at a time."""

    def __init__(
        self,
        directory: str,
        threads: int,
        context_tokens: int = CONTEXT_TOKENS,
        params: Params = AS_TIMED,
        polls: bool = False,
    ) -> None:
        """polls: as `attach_pool` has it, where a timing has the machine for itself"""
        self._path = Path(directory) / MODEL_FILE
        self.threads, self._params, self._polls = threads, params, polls
        api.llama_backend_init()
        choices = api.llama_model_default_params()
        choices.n_gpu_layers = 0
        choices.use_mmap = False
        choices.use_extra_bufts = params.repack
        self._model = api.llama_model_load_from_file(str(self._path).encode(), choices)
        if not self._model:
            raise CallFailure("invalid", f"Cannot run {self._path}: llama.cpp does not load it")
        self.vocabulary = int(api.llama_vocab_n_tokens(api.llama_model_get_vocab(self._model)))
        self._context: Any = None
        self.make_context(context_tokens)

    def make_context(self, tokens: int) -> None:
        """Room for so many tokens in the place of what there was; the sequence is forgotten."""
        if self._context is not None:
            api.llama_free(self._context)
        options = api.llama_context_default_params()
        options.n_ctx = tokens
        options.n_batch = options.n_ubatch = min(tokens, BATCH_TOKENS)
        options.n_threads = options.n_threads_batch = self.threads
        options.type_k = options.type_v = KINDS[self._params.kv_precision]
        flash = self._params.flash_attention
        options.flash_attn_type = (
            api.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash else api.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        options.no_perf = True
        self._context = api.llama_init_from_model(self._model, options)
        if not self._context:
            raise CallFailure(
                "out_of_memory",
                f"Cannot run {self._path}: llama.cpp makes no context of {tokens} tokens with"
                f" {self._params.label()}",
            )
        attach_pool(self._context, self.threads, self._polls)
        self.context_tokens = tokens
        self._length = 0

    def compute_with(self, threads: int) -> None:
        """From now on with so many threads; a new context begins with all of them."""
        api.llama_set_n_threads(self._context, threads, threads)

    def close(self) -> None:
        """Gives its memory back; it cannot be used again."""
        api.llama_free(self._context)
        api.llama_model_free(self._model)

    def reset(self) -> None:
        """Forgets the sequence."""
        api.llama_memory_clear(api.llama_get_memory(self._context), True)
        self._length = 0

    def sequence_bytes(self) -> int:
        """What the keys and values so far take."""
        return int(api.llama_state_seq_get_size(self._context, 0))

    def keep(self, length: int) -> int:
        """Forgets the sequence but for its first tokens, and all of it where a layer holds a state,
        from which no token can be taken out.

        returns: how many tokens are left
        """
        if api.llama_memory_seq_rm(api.llama_get_memory(self._context), 0, length, -1):
            self._length = length
        else:
            self.reset()
        return self._length

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
        ids = (api.llama_token * count)(*tokens.tolist())  # the batch does not keep it alive
        batch = api.llama_batch_get_one(ids, count)
        flags = (ctypes.c_int8 * count)(*[0] * (count - wanted), *[1] * wanted)
        batch.logits = flags
        status = api.llama_decode(self._context, batch)
        if status != 0:
            raise CallFailure("crash", f"Cannot go on: llama_decode gave {status}")
        self._length = end
        if wanted == 0:
            return np.empty((0, self.vocabulary), np.float32)
        logits = api.llama_get_logits(self._context)
        return np.ctypeslib.as_array(
            ctypes.cast(logits, ctypes.POINTER(ctypes.c_float)), shape=(wanted, self.vocabulary)
        )
