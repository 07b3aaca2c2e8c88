"""llama.cpp's own quantizer as a program: a GGUF file of floats in, one of its blocks out.

Runs in llama.cpp's environment, started by a method that runs in another: what to do is a JSON file
(`Job`), what failed is said in a line of standard error. Imports `llama_cpp` and numpy alone.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.runtimes.llama_cpp.library import api

KINDS = "LLAMA_FTYPE_MOSTLY_"
ERROR_LEVEL = 4  # of ggml's log


@dataclass(frozen=True)
class Job:
    """What to quantize, and how. Names of tensors are those of the GGUF file."""

    source: str
    output: str
    mix: str  # as llama-quantize spells it, such as Q4_K_M
    threads: int
    embedding: int | None  # ggml's number of a type; None: as the mix has it
    head: int | None
    kinds: dict[str, int]  # of single tensors, by name
    importance: str | None  # an .npz: a mean square of each input column, by tensor


def quantize(job: Job) -> None:
    """Writes `job.output`; raises ValueError where llama.cpp refuses, with what it said."""
    said: list[str] = []

    def log(level: int, text: bytes, _: Any) -> None:
        if level == ERROR_LEVEL:
            said.append(text.decode(errors="replace").strip())

    heard = api.llama_log_callback(log)  # which must live as long as llama.cpp speaks
    api.llama_log_set(heard, ctypes.c_void_p(0))
    api.llama_backend_init()
    options = api.llama_model_quantize_default_params()
    options.ftype = int(getattr(api, KINDS + job.mix))
    options.nthread = job.threads
    if job.embedding is not None:
        options.token_embedding_type = job.embedding
    if job.head is not None:
        options.output_tensor_type = job.head
    chosen = overrides(job.kinds)
    if job.kinds:
        options.tt_overrides = chosen
    weights = {} if job.importance is None else dict(np.load(job.importance, allow_pickle=False))
    matrix = importance(weights)
    if weights:
        options.imatrix = matrix
    paths = (job.source.encode(), job.output.encode())
    if api.llama_model_quantize(*paths, ctypes.byref(options)) != 0:
        raise ValueError("; ".join(said) or "llama_model_quantize failed without a word")


def overrides(kinds: Mapping[str, int]) -> Any:
    """A C array of patterns and types that ends with an empty one. kinds: by tensor"""
    array = (api.llama_model_tensor_override * (len(kinds) + 1))()
    for at, (name, kind) in enumerate(kinds.items()):
        array[at].pattern = f"^{name.replace('.', chr(92) + '.')}$".encode()
        array[at].type = kind
    return array


def importance(weights: Mapping[str, np.ndarray]) -> Any:
    """A C array of names and values that ends with an empty one. weights: (in,) float32 each,
    which must live as long as the array"""
    array = (api.llama_model_imatrix_data * (len(weights) + 1))()
    for at, (name, values) in enumerate(weights.items()):
        array[at].name = name.encode()
        array[at].data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        array[at].size = values.size
    return array


if __name__ == "__main__":
    try:
        quantize(Job(**json.loads(Path(sys.argv[1]).read_text())))
    except ValueError as error:
        sys.exit(str(error))
