"""What the formulas of its stored forms say a checkpoint weighs, beside the bytes on disk."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cache

import numpy as np

from pare_backends.checkpoint.files import DTYPES, Checkpoint
from pare_backends.checkpoint.forms.floats import FLOAT_BITS, overflows
from pare_backends.checkpoint.stored import Entry, StoredTensors

DTYPE_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}


def float_values(checkpoint: Checkpoint, name: str) -> int:
    """Number of values of a tensor of plain floats."""
    return math.prod(checkpoint.float_shape(name))


def formula_bytes(checkpoint: Checkpoint) -> int:
    """Bytes of all tensors; the files add only their headers."""
    floats = sum(float_bytes(checkpoint, name) for name in checkpoint.floats)
    stored = sum(tensor.formula_bytes() for tensor in checkpoint.stored.values())
    beside = 0 if checkpoint.adapter is None else checkpoint.adapter.nbytes
    return stored + floats + beside


def float_bytes(checkpoint: Checkpoint, name: str, dtype: str | None = None) -> int:
    """Bytes of a tensor of plain floats as it will lie on disk, by `forms.floats.kept`.

    dtype: that of other files; None: the checkpoint's own
    """
    values, floats = float_values(checkpoint, name), checkpoint.floats
    dtype = dtype or checkpoint.float_type(name)
    on_disk = floats.kind(name) if isinstance(floats, StoredTensors) else None
    if on_disk is not None and DTYPES.get(on_disk) == dtype:
        return values * DTYPE_BYTES[dtype]
    if isinstance(floats, StoredTensors) and on_disk is not None:
        kind, wide = looked_at(floats.entries[name])
    else:
        kind, wide = looked_at_values(floats[name])
    if kind.kind != "f":
        return values * kind.itemsize
    return values * DTYPE_BYTES["float32" if wide and dtype == "float16" else dtype]


@cache
def looked_at(entry: Entry) -> tuple[np.dtype, bool]:
    """A tensor's type, and whether float16 cannot hold it: read once."""
    return looked_at_values(StoredTensors({"": entry})[""])


def looked_at_values(values: np.ndarray) -> tuple[np.dtype, bool]:
    """The same of values in memory."""
    return values.dtype, values.dtype.kind == "f" and overflows(values)


def weight_bits(checkpoint: Checkpoint, linear: Collection[str]) -> float:
    """Mean bits of a weight in the linear layers, with all that its stored form or an adapter
    adds."""
    bits, weights = 0 if checkpoint.adapter is None else 8 * checkpoint.adapter.nbytes, 0
    for layer in linear:
        if layer in checkpoint.stored:
            tensor = checkpoint.stored[layer]
            bits += 8 * tensor.formula_bytes()
            weights += tensor.size
        else:
            bits += 8 * float_bytes(checkpoint, f"{layer}.weight")
            weights += float_values(checkpoint, f"{layer}.weight")
    return bits / weights if weights else float(FLOAT_BITS)
