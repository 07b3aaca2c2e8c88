"""GGUF files as checkpoints of a model that is at hand: its blocks as they are, their rows in the
model's order. They are read by the tables that pare writes such files by."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gguf import GGUFReader, ReaderTensor

from pare_backends.checkpoint.empty_model import load_config
from pare_backends.checkpoint.files import tensor_entries, weight_files
from pare_backends.elsewhere.gguf_by_layout import FLOATS, placed_by_layout
from pare_backends.elsewhere.gguf_keys import check_keys
from pare_backends.elsewhere.given import Given, Held, refused
from pare_backends.failures import CallFailure, one_line
from pare_backends.models.gguf.reading import DAMAGED, gguf_parts, open_parts, unreadable
from pare_backends.models.gguf.settings import architecture_keys
from pare_backends.runtimes.registry import writer_of
from pare_backends.runtimes.stored_weights import StoredWeights


def open_gguf_file(path: Path, original: Path, dtype: str) -> Given:
    """The file, or the files that it was split into, beside the model in `original`.

    dtype: of the original, for floats that the file holds in float32 alone
    raises: CallFailure for a file that is damaged, of another model or lacks a tensor
    """
    readers = open_parts(path)
    weights = StoredWeights(str(original))
    layout = layout_of_model(path.name, weights)
    architecture, _ = architecture_keys(readers)
    if architecture != layout.architecture:
        why = f"it is of the architecture {architecture}, the model is {layout.architecture} there"
        raise refused(path.name, why)
    found = {one.name: one for reader in readers for one in reader.tensors}
    try:
        said, tokens = said_keys(readers[0], f"{architecture}."), vocabulary(readers)
        check_keys(path.name, layout, layout.keys(weights), said, found)
        placed = placed_by_layout(path.name, layout, shapes_of(original), found, is_tied(original))
    except UnicodeDecodeError as error:
        raise unreadable(path, f"a text in its header: {one_line(error)}") from error
    except DAMAGED as error:
        raise unreadable(path, error) from error
    # What no such file holds, such as layers that guess a further token, stays the model's.
    beside = {
        name: Held(shape, None, partial(weights.floats, name))
        for name, shape in shapes_of(original).items()
        if layout.is_left_out(name)
    }
    return Given(
        kind="GGUF",
        files=tuple(gguf_parts(path)),
        config=None,
        dtype=float_type(found, dtype),
        tensors=placed.tensors | beside,
        directory=None,
        tokens=tokens,
        notes=tuple(placed.notes),
    )


def shapes_of(original: Path) -> dict[str, tuple[int, ...]]:
    """Of the model's tensors, by their names in its files."""
    entries = tensor_entries(weight_files(original))
    return {name: tuple(entry.shape) for name, entry in entries.items()}


def is_tied(original: Path) -> bool:
    """Whether the model's head is its embedding."""
    return bool(load_config(original).get_text_config().tie_word_embeddings)


def layout_of_model(file: str, weights: StoredWeights) -> Any:
    """How a file of the model is laid out; `CallFailure` where llama.cpp does not compute it."""
    try:
        return writer_of("gguf", "gguf_layout").GgufLayout(weights.config)
    except CallFailure as failure:
        why = failure.message.removeprefix("Cannot write this model as a GGUF file: ")
        raise refused(file, f"of this model no GGUF file is read: {why}") from failure


def said_keys(reader: GGUFReader, prefix: str) -> dict[str, object]:
    """What a file says of its architecture, by keys without its name."""
    return {
        key.removeprefix(prefix): field.contents()
        for key, field in reader.fields.items()
        if key.startswith(prefix)
    }


def float_type(found: Mapping[str, ReaderTensor], dtype: str) -> str:
    """Of the file's matrices that are plain floats; of an original's where it has float32 alone."""
    floats = {FLOATS.get(one.tensor_type.name) for one in found.values() if len(one.shape) > 1}
    return next((kind for kind in ("bfloat16", "float16") if kind in floats), dtype)


def vocabulary(readers: list[GGUFReader]) -> tuple[str, ...]:
    """The tokens by id; empty where the file holds none."""
    field = readers[0].fields.get("tokenizer.ggml.tokens")
    return () if field is None else tuple(str(one) for one in field.contents())
