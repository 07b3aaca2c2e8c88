"""Runtime `llama.cpp`: the artifact's own integers in GGUF's blocks, on the CPU.

Imports `llama_cpp` and numpy alone. Its numerics are llama.cpp's: the inputs of packed weights are
rounded to 8 bits in blocks of 32, always, those of float16 matrices to float16. The KV cache is
float32, so that it adds no rounding of its own. Files are read into memory, not mapped: the peak
memory of the process is then what the weights take.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import llama_cpp as api
import numpy as np

from pare_backends.failures import StageFailure
from pare_backends.runtimes.session import Numerics

MODEL_FILE = "model.gguf"
DESCRIPTION_FILE = "gguf.json"
CONTEXT_TOKENS = 256
"""A larger context would take memory that nothing measured here uses."""
F32 = 0  # ggml's number of the type


class LlamaCppDecoder:
    """One sequence in a llama.cpp context, appended to a few tokens at a time."""

    def __init__(self, directory: str, threads: int) -> None:
        path = Path(directory) / MODEL_FILE
        api.llama_backend_init()
        choices = api.llama_model_default_params()
        choices.n_gpu_layers = 0
        choices.use_mmap = False
        self._model = api.llama_model_load_from_file(str(path).encode(), choices)
        if not self._model:
            raise StageFailure("invalid", f"Cannot run {path}: llama.cpp does not load it")
        options = api.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = CONTEXT_TOKENS
        options.n_threads = options.n_threads_batch = threads
        options.type_k = options.type_v = F32
        options.flash_attn_type = api.LLAMA_FLASH_ATTN_TYPE_DISABLED
        options.no_perf = True
        self._context = api.llama_init_from_model(self._model, options)
        if not self._context:
            raise StageFailure("out_of_memory", f"Cannot run {path}: llama.cpp makes no context")
        self._vocabulary = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self._model))
        self._length = 0

    def close(self) -> None:
        """Gives its memory back; it cannot be used again."""
        api.llama_free(self._context)
        api.llama_model_free(self._model)

    def reset(self) -> None:
        """Forgets the sequence."""
        api.llama_memory_clear(api.llama_get_memory(self._context), True)
        self._length = 0

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """Appends tokens; the last one's logits.

        tokens: (n,) int64; returns: (1, vocabulary) float32, valid until the next step
        """
        end = self._length + len(tokens)
        if end > CONTEXT_TOKENS:
            raise StageFailure(
                "bad_input",
                f"Cannot go on to {end} tokens: the context was made for {CONTEXT_TOKENS}",
            )
        ids = (api.llama_token * len(tokens))(*tokens.tolist())
        status = api.llama_decode(self._context, api.llama_batch_get_one(ids, len(tokens)))
        if status != 0:
            raise StageFailure("crash", f"Cannot go on: llama_decode gave {status}")
        self._length = end
        logits = api.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(
            ctypes.cast(logits, ctypes.POINTER(ctypes.c_float)), shape=(1, self._vocabulary)
        )


def read_description(directory: str) -> dict[str, Any]:
    """gguf.json of `write_gguf`."""
    return dict(json.loads((Path(directory) / DESCRIPTION_FILE).read_text()))


def described_numerics(directory: str) -> Numerics:
    """What llama.cpp computes with, by the formats in the file."""
    described = read_description(directory)
    return Numerics(described["inference_precision"], "f32", described["activation_group"])


class LlamaCppSession:
    """`Session` of runtimes/session.py, of a directory that `write_gguf` wrote."""

    device = "cpu"
    provenance = "measured"

    def __init__(self, directory: str, threads: int) -> None:
        described = read_description(directory)
        self.numerics = described_numerics(directory)
        self.bytes_read_per_token = int(described["bytes_read_per_token"])
        version = f"llama-cpp-python {api.__version__}, {threads} threads"
        self.notes = (*described["notes"], version)
        self._decoder = LlamaCppDecoder(directory, threads)

    def prefill(self, tokens: np.ndarray) -> int:
        self._decoder.reset()
        return int(self._decoder.step(tokens)[-1].argmax())

    def decode(self, token: int) -> int:
        return int(self._decoder.step(np.array([token], np.int64))[-1].argmax())

    def gpu_peak_bytes(self) -> int | None:
        return None


def open_llama_cpp(directory: str, threads: int) -> LlamaCppSession:
    """Loads a GGUF file; half a second for 135 M parameters."""
    return LlamaCppSession(directory, threads)
