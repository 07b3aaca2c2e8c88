"""A checkpoint that was made elsewhere, as its files' headers tell it: nothing is read until it is
asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.forms import (
    GgmlTensor,
    GridTensor,
    OrderedTensor,
    StoredTensor,
    TableTensor,
)
from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.failures import CallFailure


@dataclass(frozen=True)
class Held:
    """A tensor of it, unread."""

    shape: tuple[int, ...]  # as the model holds it
    like: StoredTensor | None  # of its shape and form, its values none; None: floats
    read: Callable[[], StoredTensor | np.ndarray]


class Unread(Mapping[str, np.ndarray]):
    """Float tensors by name, each read whenever it is asked for."""

    def __init__(self, tensors: Mapping[str, Held]) -> None:
        self._tensors = {name: held for name, held in tensors.items() if held.like is None}

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self._tensors[name].read())

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


@dataclass(frozen=True)
class Given:
    """A checkpoint made elsewhere."""

    kind: str  # such as GGUF, GPTQ or floats
    files: tuple[Path, ...]  # of its weights
    config: Any  # transformers' configuration of what it says of itself; None: it says the model's
    dtype: str  # of its floats: float16, bfloat16 or float32
    tensors: Mapping[str, Held]  # by layer where stored in a form, other tensors by their names
    directory: Path | None  # where its tokenizer lies; None: inside its file
    tokens: tuple[str, ...] = ()  # of its own vocabulary by id, where it lies inside its file
    notes: tuple[str, ...] = ()


def refused(
    name: str, why: str, hint: str = "Give a checkpoint of the study's model"
) -> CallFailure:
    """The failure for a checkpoint that is no trial of the model."""
    return CallFailure("bad_input", f"Cannot use {name}: {why}", hint=hint)


def form_words(tensor: StoredTensor) -> dict[str, Any]:
    """A stored form as `plugins/forms` tells it."""
    if isinstance(tensor, GgmlTensor):
        kind = BLOCK_KINDS[tensor.kind]
        return {"form": "ggml", "mix": tensor.kind, "bits": 8 * kind.octets / kind.weights}
    if isinstance(tensor, GridTensor):
        rounds = tensor.activation_bits is not None
        static = {"activation_range": "static"} if tensor.activation_scale is not None else {}
        return {
            "form": "grid",
            "bits": tensor.bits,
            "group_size": tensor.group_size,
            "symmetric": tensor.symmetric,
            "activation_group_size": tensor.activation_group_size if rounds else None,
            **static,
        }
    if isinstance(tensor, TableTensor):
        double = tensor.format.name.endswith("_double")
        return {
            "form": "table",
            "format": tensor.format.name.removesuffix("_double"),
            "block_size": tensor.block,
            "double_quant": double,
        }
    if isinstance(tensor, OrderedTensor):
        words = {key: form_words(tensor.grid)[key] for key in ("bits", "group_size", "symmetric")}
        return {"form": "ordered", **words}
    return {"form": tensor.FORM}


def unread_blocks(kind: str, rows: int, columns: int) -> GgmlTensor:
    """Blocks of a shape without their bytes."""
    block = BLOCK_KINDS[kind]
    row = columns // block.weights * block.octets
    return GgmlTensor(np.broadcast_to(np.uint8(0), (rows, row)), kind, columns)


def unread_grid(
    bits: int, rows: int, columns: int, groups: int, symmetric: bool, **more: Any
) -> GridTensor:
    """Integers on a grid of a shape without their values."""
    zeros = None if symmetric else np.broadcast_to(np.int8(0), (rows, groups))
    size = -1 if groups == 1 else columns // groups
    ints = np.broadcast_to(np.int8(0), (rows, columns))
    return GridTensor(
        ints, np.broadcast_to(np.float32(1), (rows, groups)), zeros, bits, size, **more
    )
