"""Progress of a library that tells none: how often the decoder's blocks were run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pare_backends.progress import Report


@contextmanager
def watch_blocks(model: Any, report: Report, label: str, calls_a_block: int) -> Iterator[None]:
    """Reports the block that the library is at, each time one of them runs.

    A call of a block moves the bar within it by 1 / `calls_a_block`.
    """
    blocks = decoder_blocks(model)
    calls = [0] * len(blocks)

    def watcher(number: int) -> Any:
        def count(*arguments: Any) -> None:
            calls[number] += 1
            within = min(1.0, calls[number] / calls_a_block)
            report.progress(label, number + within, len(blocks), "blocks")

        return count

    handles = [block.register_forward_hook(watcher(n)) for n, block in enumerate(blocks)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def decoder_blocks(model: Any) -> list[Any]:
    """The longest list of modules in the model: its layers."""
    import torch

    lists = [m for m in model.modules() if isinstance(m, torch.nn.ModuleList)]
    return list(max(lists, key=len, default=[]))
