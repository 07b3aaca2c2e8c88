"""Threads that stay from token to token.

llama.cpp's own programs attach a pool to each context (`common_threadpools` of v0.5.0). Without
one, a build that has no OpenMP begins new threads for each graph: a token of 135 M parameters at 4
bits took 18 % longer on two cores, of float16 3 % (in turn in one process). Threads that sleep at
once cost a token of float16 6 to 9 %.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from pare_backends.runtimes.llama_cpp.library import api, libraries, processor

MOST_THREADS = 512
"""ggml's GGML_MAX_N_THREADS."""


class _Params(ctypes.Structure):
    """ggml_threadpool_params of ggml.h, v0.5.0."""

    _fields_ = [
        ("cpumask", ctypes.c_bool * MOST_THREADS),
        ("n_threads", ctypes.c_int),
        ("prio", ctypes.c_int),
        ("poll", ctypes.c_uint32),
        ("strict_cpu", ctypes.c_bool),
        ("paused", ctypes.c_bool),
    ]


def attach_pool(context: Any, threads: int, polls: bool) -> None:
    """From now on a context computes with threads that stay, at most so many.

    They end with the process, as other contexts share them. A build whose libraries have other
    names computes without.

    polls: they look for work for a while before they sleep, as in llama.cpp's own programs; else
        they leave the processor to others at once
    """
    pool = _pool(threads, polls)
    if pool is None:
        return
    attach = api.llama_cpp._lib.llama_attach_threadpool
    attach.argtypes, attach.restype = [ctypes.c_void_p] * 3, None
    attach(ctypes.cast(context, ctypes.c_void_p), pool, pool)


@cache
def _pool(threads: int, polls: bool) -> ctypes.c_void_p | None:
    base, arithmetic = _loaded("base"), _loaded("cpu" if processor is None else f"cpu-{processor}")
    if base is None or arithmetic is None:
        return None
    params = _Params()
    begin = base.ggml_threadpool_params_init
    begin.argtypes, begin.restype = [ctypes.POINTER(_Params), ctypes.c_int], None
    begin(ctypes.byref(params), threads)
    if not polls:
        params.poll = 0
    make = arithmetic.ggml_threadpool_new
    make.argtypes, make.restype = [ctypes.POINTER(_Params)], ctypes.c_void_p
    pool = make(ctypes.byref(params))
    return None if pool is None else ctypes.c_void_p(pool)


def _loaded(part: str) -> ctypes.CDLL | None:
    """A library of ggml, which is loaded already; None: there is none of that name."""
    found = sorted(libraries.glob(f"*ggml-{part}.*"))
    return ctypes.CDLL(str(found[0])) if found else None
