"""ik_llama.cpp's library as its binding loads it, with the functions that the binding leaves out.

Its C interface is that of llama.cpp of 2024 with more fields (`include/llama.h` of 0.1.5): a batch
says where it begins, and a cache is removed from by its context.
"""

from __future__ import annotations

import ctypes
from importlib.metadata import version
from typing import Any

from ik_llama_cpp import _ctypes_api as api

VERSION = version("ik-llama-cpp-python")
_library: Any = api._lib
_CONTEXT = ctypes.c_void_p


def _bound(name: str, result: Any, *taken: Any) -> Any:
    function = getattr(_library, name)
    function.argtypes, function.restype = list(taken), result
    return function


get_logits = _bound("llama_get_logits", ctypes.c_void_p, _CONTEXT)
remove_tokens = _bound(
    "llama_kv_cache_seq_rm", ctypes.c_bool, _CONTEXT, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32
)
set_threads = _bound("llama_set_n_threads", None, _CONTEXT, ctypes.c_uint32, ctypes.c_uint32)
batch_of = _bound(
    "llama_batch_get_one",
    api.llama_batch,
    api.llama_token_p,
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.c_int32,
)

__all__ = ["VERSION", "api", "batch_of", "get_logits", "remove_tokens", "set_threads"]
