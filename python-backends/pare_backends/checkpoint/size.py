"""What the format's formula says a checkpoint weighs, beside the bytes on disk."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from pare_backends.checkpoint.files import Checkpoint
from pare_backends.checkpoint.packing import packed_columns
from pare_backends.checkpoint.quantized import QuantizedTensor

FLOAT_BITS = 16  # unquantized tensors are written in float16
SHAPE_BYTES = 16  # a packed layer carries its two dimensions as int64


def tensor_bytes(tensor: QuantizedTensor) -> int:
    """Integers, scales and zero points of one layer on disk."""
    rows, columns = tensor.shape
    groups = tensor.scales.shape[1]
    scales = rows * groups * np.dtype(tensor.scale_dtype).itemsize
    if tensor.activation_bits is not None:
        return rows * columns + scales
    packed = rows * packed_columns(columns, tensor.bits) * 4
    zeros = 0 if tensor.symmetric else packed_columns(rows, tensor.bits) * groups * 4
    return packed + scales + zeros + SHAPE_BYTES


def float_values(checkpoint: Checkpoint, name: str) -> int:
    """Number of values of an unquantized tensor."""
    return math.prod(checkpoint.float_shape(name))


def formula_bytes(checkpoint: Checkpoint) -> int:
    """Bytes of all tensors; the files add only their headers."""
    floats = sum(float_values(checkpoint, name) for name in checkpoint.floats)
    return sum(tensor_bytes(t) for t in checkpoint.quantized.values()) + floats * FLOAT_BITS // 8


def weight_bits(checkpoint: Checkpoint, linear: Collection[str]) -> float:
    """Mean bits of a weight in the linear layers, scales and zero points included."""
    bits, weights = 0, 0
    for layer in linear:
        if layer in checkpoint.quantized:
            tensor = checkpoint.quantized[layer]
            bits += 8 * tensor_bytes(tensor)
            weights += tensor.ints.size
        else:
            values = float_values(checkpoint, f"{layer}.weight")
            bits += FLOAT_BITS * values
            weights += values
    return bits / weights if weights else float(FLOAT_BITS)
