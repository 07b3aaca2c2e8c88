"""What a model's parameters must find in a checkpoint's files: each refusal in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.file_names import Filled, filled_parameters
from pare_backends.checkpoint.stored import Entry, StoredTensors, check_dtype
from pare_backends.failures import CallFailure
from pare_backends.models.checks import CHUNK_VALUES, already_quantized
from pare_backends.models.layout import Layout

NO_FLOATS = ("I", "U", "BOOL", "F8", "F6", "F4")
"""How safetensors' names of types begin whose numbers stand for weights by some scale."""


def check_tensors(source: Path | str, model: Any, entries: Mapping[str, Entry]) -> None:
    """Raises where a parameter has nothing in the files, numbers that are no floats, or others than
    config.json makes.

    model: the architecture, on whatever device
    """
    filled = filled_parameters(model, entries)
    check_floats(source, filled, entries)
    check_shapes(source, model, filled, entries)
    check_parameters(source, model, filled)


def check_floats(
    source: Path | str, filled: Mapping[str, Filled], entries: Mapping[str, Entry]
) -> None:
    """Raises where a parameter is stored in numbers that stand for floats by some scale."""
    for name in filled:
        dtype = entries[name].dtype
        if dtype.startswith(NO_FLOATS):
            raise already_quantized(source, f"{name} is stored as {dtype}")
        check_dtype(name, entries[name])


def check_parameters(source: Path | str, model: Any, filled: Mapping[str, Filled]) -> None:
    """Raises where the files hold nothing for a parameter, which would be drawn by chance."""
    found = {place.parameter for place in filled.values()}
    made = getattr(model, "_keys_to_ignore_on_load_missing", None) or ()
    missing = [
        name
        for name, _ in model.named_parameters()
        if name not in found and not any(re.search(pattern, name) for pattern in made)
    ]
    if missing:
        raise CallFailure(
            "bad_input",
            f"Cannot use {source}: its files hold nothing for {missing[0]} ({len(missing)}"
            " parameters are missing)",
            hint="The checkpoint is incomplete: copy or make it again",
        )


def check_shapes(
    source: Path | str, model: Any, filled: Mapping[str, Filled], entries: Mapping[str, Entry]
) -> None:
    """Raises where the weights have not the shapes that config.json makes."""
    places = filled.items()
    whole = {p.parameter: n for n, p in places if p.expert is None and p.problem is None}
    for parameter, weights in model.named_parameters():
        name, shape = whole.get(parameter), tuple(weights.shape)
        if name is not None and entries[name].shape != shape:
            raise CallFailure(
                "bad_input",
                f"Cannot use {source}: {name} has the shape {entries[name].shape} in its file and"
                f" {shape} by config.json",
                hint="Config and weights are of two models: copy the directory again",
            )


def check_copy(source: Path | str, layout: Layout, entries: Mapping[str, Entry]) -> None:
    """Raises where a head that is said to be the embedding is stored beside it, and is another."""
    if layout.head_copy is None:
        return
    names = [f"{layer}.weight" for layer in (layout.embedding, layout.head_copy)]
    if not same_values(*(entries[name] for name in names)):
        raise CallFailure(
            "bad_input",
            f"Cannot use {source}: by its config.json the output head is the embedding"
            f" (tie_word_embeddings), and its files hold {names[1]} beside {names[0]}, with other"
            " values",
            hint="Say tie_word_embeddings: false in config.json, or delete one of the two",
        )


def same_values(first: Entry, second: Entry) -> bool:
    """Whether two tensors hold the same bytes, or the same numbers in two types."""
    if first.dtype != second.dtype:
        stored = StoredTensors({"first": first, "second": second})
        one, other = (stored[name].astype(np.float32) for name in stored)
        return np.array_equal(one, other)
    ours, theirs = (
        np.memmap(one.path, dtype=np.uint8, mode="r", offset=one.start, shape=one.end - one.start)
        for one in (first, second)
    )
    return len(ours) == len(theirs) and all(
        np.array_equal(ours[start : start + CHUNK_VALUES], theirs[start : start + CHUNK_VALUES])
        for start in range(0, len(ours), CHUNK_VALUES)
    )
