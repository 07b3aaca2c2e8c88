"""A checkpoint that was made elsewhere, taken as it is: its blocks, integers and codes are kept in
pare's own forms, in which they stand for the same numbers."""

from __future__ import annotations

from dataclasses import replace

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.forms import StoredTensor
from pare_backends.elsewhere.given import Unread
from pare_backends.elsewhere.opening import open_given
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context


@declared_knobs
class Params:
    """Knobs, as plugins/elsewhere/as_given.ts declares them."""

    file: str
    content: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The checkpoint at `context.given_path` in the place of the original's weights."""
    path = context.given_path
    if path is None or not path.exists():
        raise CallFailure(
            "bad_input",
            f"Cannot take {params.file}: it is not where it was, or nobody said where it is",
            hint=f"Put it back, or name it again: its content begins with {params.content}",
        )
    given = open_given(path, params.file, context.parent_dir, checkpoint, context.layout)
    stored: dict[str, StoredTensor] = {}
    with context.report.span("read"):
        for done, (name, held) in enumerate(given.tensors.items(), start=1):
            if held.like is not None and isinstance(read := held.read(), StoredTensor):
                stored[name] = read
            context.report.progress(f"read {params.file}", done, len(given.tensors), "tensors")
    file_bytes = sum(one.stat().st_size for one in given.files)
    context.figure("file_bytes", file_bytes, "B")
    context.notes.extend(given.notes)
    context.notes.append(
        f"{params.file} was made elsewhere ({given.kind}, {file_bytes / 1e6:.1f} MB as it was"
        " given): its stored numbers are kept, evaluated multiplied out"
    )
    config = {**checkpoint.config, "dtype": given.dtype}
    return replace(
        checkpoint, config=config, stored=stored, floats=Unread(given.tensors), adapter=None
    )
