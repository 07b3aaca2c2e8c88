"""Integers of 1 to 8 bits in 32-bit words, without a wasted bit (compressed-tensors' layout).

A value is stored plus 2^(bits−1), so unsigned; value k of a row takes the bits from k·bits on,
lowest first; a row ends at a whole word.
"""

from __future__ import annotations

import numpy as np

CHUNK_VALUES = 1 << 22  # values widened to 64 bits at a time: bounds memory at 32 MiB
EIGHT = np.arange(8, dtype=np.uint64)


def packed_columns(columns: int, bits: int) -> int:
    """Words that a row of `columns` values takes."""
    return -(-columns * bits // 32)


def pack(values: np.ndarray, bits: int) -> np.ndarray:
    """Words that hold the values.

    values: (rows, columns) int8; returns: (rows, ceil(columns · bits / 32)) int32
    """
    rows, columns = values.shape
    words = packed_columns(columns, bits)
    padded = -(-columns // 8) * 8
    packed = np.zeros((rows, words * 4), dtype=np.uint8)
    step = max(1, CHUNK_VALUES // max(1, padded))
    for start in range(0, rows, step):
        chunk = values[start : start + step]
        unsigned = np.zeros((len(chunk), padded), dtype=np.uint64)
        unsigned[:, :columns] = (chunk.astype(np.int16) + (1 << (bits - 1))).astype(np.uint64)
        eights = unsigned.reshape(len(chunk), -1, 8) << (EIGHT * np.uint64(bits))
        joined = np.bitwise_or.reduce(eights, axis=2)  # eight values in the low 8 · bits bits
        octets = joined.view(np.uint8).reshape(len(chunk), -1, 8)[:, :, :bits]
        octets = octets.reshape(len(chunk), -1)[:, : words * 4]
        packed[start : start + step, : octets.shape[1]] = octets
    return packed.view(np.int32)


def unpack(packed: np.ndarray, bits: int, columns: int) -> np.ndarray:
    """The values that `pack` was given.

    packed: (rows, words) int32; returns: (rows, columns) int8
    """
    rows = packed.shape[0]
    padded = -(-columns // 8) * 8
    octets = np.ascontiguousarray(packed).view(np.uint8).reshape(rows, -1)
    values = np.empty((rows, columns), dtype=np.int8)
    step = max(1, CHUNK_VALUES // max(1, padded))
    mask = np.uint64((1 << bits) - 1)
    for start in range(0, rows, step):
        chunk = octets[start : start + step]
        wide = np.zeros((len(chunk), padded // 8, 8), dtype=np.uint8)
        needed = padded // 8 * bits
        filled = np.zeros((len(chunk), needed), dtype=np.uint8)
        filled[:, : min(needed, chunk.shape[1])] = chunk[:, :needed]
        wide[:, :, :bits] = filled.reshape(len(chunk), -1, bits)
        joined = wide.reshape(len(chunk), -1).view(np.uint64)
        unsigned = (joined[:, :, None] >> (EIGHT * np.uint64(bits))) & mask
        signed = unsigned.reshape(len(chunk), padded)[:, :columns].astype(np.int16)
        values[start : start + step] = (signed - (1 << (bits - 1))).astype(np.int8)
    return values
