"""What the formulas of its stored forms say a checkpoint weighs, beside the bytes on disk."""

from __future__ import annotations

import math
from collections.abc import Collection

from pare_backends.checkpoint.files import Checkpoint
from pare_backends.checkpoint.forms.floats import FLOAT_BITS


def float_values(checkpoint: Checkpoint, name: str) -> int:
    """Number of values of a tensor of plain floats."""
    return math.prod(checkpoint.float_shape(name))


def formula_bytes(checkpoint: Checkpoint) -> int:
    """Bytes of all tensors; the files add only their headers."""
    floats = sum(float_values(checkpoint, name) for name in checkpoint.floats)
    stored = sum(tensor.formula_bytes() for tensor in checkpoint.stored.values())
    beside = 0 if checkpoint.adapter is None else checkpoint.adapter.nbytes
    return stored + floats * FLOAT_BITS // 8 + beside


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
            values = float_values(checkpoint, f"{layer}.weight")
            bits += FLOAT_BITS * values
            weights += values
    return bits / weights if weights else float(FLOAT_BITS)
