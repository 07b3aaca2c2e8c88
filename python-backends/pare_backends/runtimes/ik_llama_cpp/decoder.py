"""A sequence in ik_llama.cpp: the artifact's own integers in GGUF's blocks, on the CPU.

Imports `ik_llama_cpp` and numpy alone. As it is timed, packed weights are laid out anew as they are
loaded (`-rtr` of its programs), which it is fast by, and keys and values are float16. Flash
attention is left out: its binding says that it ends the process on long prompts where a processor
has no AVX-VNNI, and it is no faster at a timing's lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.failures import CallFailure
from pare_backends.runtimes.ik_llama_cpp.library import (
    api,
    batch_of,
    get_logits,
    remove_tokens,
    set_threads,
)
from pare_backends.runtimes.registry import writer_of
from pare_backends.runtimes.sequence_context import (
    BATCH_TOKENS,
    CONTEXT_TOKENS,
    SequenceContext,
)

F32, F16 = 0, 1
"""ggml's numbers of types."""


@dataclass(frozen=True)
class Setting:
    """How a file is computed."""

    keys: int
    repack: bool


AS_TIMED = Setting(F16, repack=True)
STRICT = Setting(F32, repack=False)
"""For the proof that a file holds the artifact's weights. Values are float16 here too: it takes no
others without flash attention, which takes no float32 at all."""


class IkLlamaCppDecoder(SequenceContext):
    """One sequence in a context of ik_llama.cpp, appended to a few tokens at a time."""

    def __init__(self, directory: str, threads: int, setting: Setting = AS_TIMED) -> None:
        self._path = Path(directory) / writer_of("gguf", "gguf_directory").MODEL_FILE
        self.threads, self._setting = threads, setting
        api.llama_backend_init()
        choices = api.llama_model_default_params()
        choices.n_gpu_layers = 0
        choices.use_mmap = False
        choices.repack_tensors = setting.repack
        self._model = api.llama_model_load_from_file(str(self._path).encode(), choices)
        if not self._model:
            raise CallFailure("invalid", f"Cannot run {self._path}: ik_llama.cpp does not load it")
        self.vocabulary = int(api.llama_vocab_n_tokens(api.llama_model_get_vocab(self._model)))
        self._context: Any = None
        self.make_context(CONTEXT_TOKENS)

    def make_context(self, tokens: int) -> None:
        """Room for so many tokens in the place of what there was; the sequence is forgotten."""
        if self._context is not None:
            api.llama_free(self._context)
        options = api.llama_context_default_params()
        options.n_ctx = tokens
        options.n_batch = options.n_ubatch = min(tokens, BATCH_TOKENS)
        options.n_threads = options.n_threads_batch = self.threads
        options.type_k, options.type_v = self._setting.keys, F16
        options.flash_attn = False
        self._context = api.llama_init_from_model(self._model, options)
        if not self._context:
            why = f"ik_llama.cpp makes no context of {tokens} tokens"
            raise CallFailure("out_of_memory", f"Cannot run {self._path}: {why}")
        self.context_tokens = tokens
        self._length = 0

    def compute_with(self, threads: int) -> None:
        """From now on with so many threads; a new context begins with all of them."""
        set_threads(self._context, threads, threads)

    def close(self) -> None:
        """Gives its memory back; it cannot be used again."""
        api.llama_free(self._context)
        api.llama_free_model(self._model)

    def reset(self) -> None:
        """Forgets the sequence."""
        api.llama_kv_cache_clear(self._context)
        self._length = 0

    def keep(self, length: int) -> int:
        """Forgets the sequence but for its first tokens, and all of it where a layer holds a state,
        from which no token can be taken out.

        returns: how many tokens are left
        """
        if remove_tokens(self._context, 0, length, -1):
            self._length = length
        else:
            self.reset()
        return self._length

    def _compute(self, ids: Any, count: int, wanted: Any) -> int:
        batch = batch_of(ids, count, self._length, 0)
        batch.logits = wanted
        return int(api.llama_decode(self._context, batch))

    def _logits(self) -> Any:
        return get_logits(self._context)
