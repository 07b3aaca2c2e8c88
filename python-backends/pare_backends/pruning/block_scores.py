"""How much each decoder block matters on windows of text: by what it changes in the stream, or by
the loss without it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pare_backends.failures import CallFailure

if TYPE_CHECKING:
    import torch


def influences(
    model: Any,
    rows: Sequence[Any],
    weighed: Sequence[int],
    windows: torch.Tensor,
    report: Callable[[int, int], None],
) -> dict[int, float]:
    """1 - cosine of what goes into a block with what comes out, mean over all tokens.

    windows: (windows, tokens) int64
    """
    from torch.nn.functional import cosine_similarity

    sums = dict.fromkeys(weighed, 0.0)

    def watcher(number: int) -> Any:
        def add(module: Any, arguments: Any, named: Any, output: Any) -> None:
            cosines = cosine_similarity(stream(arguments, named), first(output), dim=-1)
            sums[number] += float((1 - cosines.double()).mean())

        return add

    handles = [rows[n].register_forward_hook(watcher(n), with_kwargs=True) for n in weighed]
    try:
        for done, window in enumerate(windows, start=1):
            model(input_ids=window.unsqueeze(0), use_cache=False)
            report(done, len(windows))
    finally:
        for handle in handles:
            handle.remove()
    return checked({number: value / len(windows) for number, value in sums.items()})


def losses_without(
    model: Any,
    rows: Sequence[Any],
    weighed: Sequence[int],
    windows: torch.Tensor,
    report: Callable[[int, int], None],
) -> dict[int, float]:
    """Nats per token that the loss on the windows rises by without each block, alone.

    windows: (windows, tokens) int64
    """
    total = (len(weighed) + 1) * len(windows)

    def loss(past: int) -> float:
        found = 0.0
        for done, window in enumerate(windows, start=1):
            row = window.unsqueeze(0)
            found += float(model(input_ids=row, labels=row, use_cache=False).loss)
            report(past * len(windows) + done, total)
        return found / len(windows)

    whole = loss(0)
    rises: dict[int, float] = {}
    for past, number in enumerate(weighed, start=1):
        with skipped(rows, [number]):
            rises[number] = loss(past) - whole
    return checked(rises)


def checked(scores: dict[int, float]) -> dict[int, float]:
    """The same; raises where one is no number."""
    for number, score in scores.items():
        if not math.isfinite(score):
            raise CallFailure(
                "not_a_number",
                f"Cannot weigh block {number}: its score on the calibration windows is {score}",
                hint="Take other calibration text",
            )
    return scores


@contextmanager
def skipped(rows: Sequence[Any], numbers: Sequence[int]) -> Iterator[None]:
    """Lets these blocks give back what they are given."""

    def pass_by(module: Any, arguments: Any, named: Any, output: Any) -> Any:
        own = stream(arguments, named)
        return (own, *output[1:]) if isinstance(output, tuple) else own

    handles = [rows[n].register_forward_hook(pass_by, with_kwargs=True) for n in numbers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def stream(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> torch.Tensor:
    """The hidden states that a block was called with. returns: (1, tokens, hidden)"""
    found: torch.Tensor = arguments[0] if arguments else named["hidden_states"]
    return found


def first(output: Any) -> torch.Tensor:
    """The hidden states of what a block gives. returns: (1, tokens, hidden)"""
    found: torch.Tensor = output[0] if isinstance(output, tuple) else output
    return found
