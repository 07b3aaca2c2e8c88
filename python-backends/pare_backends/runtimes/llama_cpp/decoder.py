"""A sequence in llama.cpp: the artifact's own integers in GGUF's blocks, on the CPU.

Imports `llama_cpp` and numpy alone. Its numerics are llama.cpp's: the inputs of packed weights are
rounded to 8 bits in blocks of 32, always, those of float16 matrices to float16. Where nobody sets
it, the KV cache is float16 and attention is computed block by block: what llama.cpp's own programs
do. Files are read into memory, not mapped: the peak memory of the process is then what the weights
take.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params
from pare_backends.runtimes.llama_cpp.gguf_directory import MODEL_FILE
from pare_backends.runtimes.llama_cpp.library import api
from pare_backends.runtimes.llama_cpp.setting import Params
from pare_backends.runtimes.llama_cpp.thread_pool import attach_pool
from pare_backends.runtimes.sequence_context import (
    BATCH_TOKENS,
    CONTEXT_TOKENS,
    SequenceContext,
)

KINDS = {"f32": 0, "f16": 1, "q8_0": 8}
"""ggml's numbers of the types of a cache."""
AS_TIMED = Params()
STRICT = build_params(Params, {"kv_precision": "f32", "flash_attention": False})
"""Rounds no key and no value: for the proof that a file holds the artifact's weights."""


class LlamaCppDecoder(SequenceContext):
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

    def _compute(self, ids: Any, count: int, wanted: Any) -> int:
        batch = api.llama_batch_get_one(ids, count)
        batch.logits = wanted
        return int(api.llama_decode(self._context, batch))

    def _logits(self) -> Any:
        return api.llama_get_logits(self._context)
