"""Messages in a model's chat template, which is a program of whoever made the model: it is tried
within bounds before anything of a model is asked in it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pare_backends.failures import CallFailure, one_line

MOST_SECONDS = 2.0
MOST_BYTES = 256 << 20
IN_USE_BYTES = 2 << 30
"""Once it was tried: beside a prompt the process computes other things, which need room as well."""
_ONE = threading.Lock()
"""The bound on memory is the process's: one that ends must not take another's along."""


Messages = Sequence[Mapping[str, Any]]


def in_template(tokenizer: Any, messages: Messages, most_bytes: int = MOST_BYTES) -> str:
    """The prompt, ended where the answer begins; bounded as `within_bounds` is."""

    def fill(taken: Messages) -> str:
        return str(
            tokenizer.apply_chat_template(list(taken), tokenize=False, add_generation_prompt=True)
        )

    return filled(tokenizer, fill, messages, most_bytes)


def filled(
    tokenizer: Any,
    fill: Callable[[Messages], str],
    messages: Messages,
    most_bytes: int = IN_USE_BYTES,
) -> str:
    """What the template makes of the messages: of plain ones, or of lists of parts, each within
    bounds. Models that also see may take parts alone, and leave the words of a plain message out
    without a sound."""

    def tried(taken: Messages) -> str:
        return within_bounds(tokenizer, lambda: fill(taken), most_bytes)

    try:
        said = tried(messages)
    except CallFailure as failure:
        if isinstance(failure.__cause__, (MemoryError, TimeoutError)):
            raise
        parts = _or_none(tried, in_parts(messages))
        if parts is None:
            raise
        return parts
    if holds(said, messages):
        return said
    parts = _or_none(tried, in_parts(messages))
    return parts if parts is not None and holds(parts, messages) else said


def _or_none(tried: Callable[[Messages], str], messages: Messages) -> str | None:
    try:
        return tried(messages)
    except CallFailure:
        return None


def in_parts(messages: Messages) -> Messages:
    """The messages, each a list of one part."""
    return [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in messages]


def holds(prompt: str, messages: Messages) -> bool:
    """Whether all that was said stands in a prompt; templates may cut white space off."""
    return all(str(one["content"]).strip() in prompt for one in messages)


def within_bounds(tokenizer: Any, fill: Callable[[], str], most_bytes: int = IN_USE_BYTES) -> str:
    """What fills in the tokenizer's template. Raises `CallFailure` where the template refuses the
    messages, or takes more time or memory than any that is meant well. Threads wait for each
    other: the bound on memory is the process's, and one that ends may not take another's along."""
    try:
        with _ONE, bounded(MOST_SECONDS, most_bytes):
            return fill()
    except Exception as error:
        name = getattr(tokenizer, "name_or_path", "") or "this model"
        why = f"it takes more than {most_bytes >> 20} MiB"
        raise CallFailure(
            "bad_input",
            f"Cannot use the chat template of {name}: "
            f"{why if isinstance(error, MemoryError) else one_line(error, 160)}",
            hint="Leave --chat-template out, or mend the template in tokenizer_config.json",
        ) from error


@contextmanager
def bounded(seconds: float, more_bytes: int) -> Iterator[None]:
    """Ends what this thread does within by an exception once it computes for longer, whatever else
    the machine does, or once the process asks for so much more memory. A single call of C's is
    ended by its memory alone."""
    until = time.thread_time() + seconds

    def look(frame: Any, event: str, arg: Any) -> Any:
        if time.thread_time() > until:
            raise TimeoutError(f"it computes for more than {seconds:g} s")
        return look

    traced = sys.gettrace()
    with _memory(more_bytes):
        sys.settrace(look)
        try:
            yield
        finally:
            sys.settrace(traced)


@contextmanager
def _memory(more_bytes: int) -> Iterator[None]:
    held = Path("/proc/self/statm")
    if not held.exists():  # no Linux: time alone is held
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = int(held.read_text().split()[0]) * resource.getpagesize() + more_bytes
    if soft != resource.RLIM_INFINITY:
        most = min(most, soft)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
