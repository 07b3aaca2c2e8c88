"""What transformers asks gguf-py many times over, asked once: a file's header at each of its calls,
the table of tensors' names at each of a model's modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import gguf
from gguf import GGUFReader

LIBRARY: Any = gguf


@contextmanager
def asking_once(readers: Sequence[GGUFReader] = ()) -> Iterator[None]:
    """readers: of the one file that is read; of several parts each is read by itself"""
    own = LIBRARY.GGUFReader, LIBRARY.get_tensor_name_map
    if len(readers) == 1:
        LIBRARY.GGUFReader = lambda path: readers[0]
    LIBRARY.get_tensor_name_map = cache(own[1])
    try:
        yield
    finally:
        LIBRARY.GGUFReader, LIBRARY.get_tensor_name_map = own
