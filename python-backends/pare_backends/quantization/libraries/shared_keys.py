"""Blocks that take the keys and values of blocks before them, run one by one over all windows."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pare_backends.quantization.libraries.watch import decoder_blocks

SHARED = "shared_kv_states"
"""What Gemma 3n and 4 give each block: a dictionary that the blocks of a pass fill."""


@contextmanager
def shared_by_window(model: Any, windows: int) -> Iterator[None]:
    """Each window's keys and values go with it from block to block: llm-compressor's trace gives
    every block an empty dictionary of its own, in which a later one finds nothing.

    windows: that each block reads in one order, as often as it likes
    """
    # What is a dict itself is copied on its way into a module (compressed-tensors' offloading).
    held: list[UserDict[int, Any]] = [UserDict() for _ in range(windows)]
    calls: dict[Any, int] = {}

    def give(block: Any, arguments: tuple[Any, ...], given: dict[str, Any]) -> Any:
        if SHARED not in given:
            return None
        calls[block] = calls.get(block, -1) + 1
        return arguments, {**given, SHARED: held[calls[block] % windows]}

    handles = [
        block.register_forward_pre_hook(give, with_kwargs=True) for block in decoder_blocks(model)
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
