"""Unsigned numbers of any width up to 64 bits, one after another, without a wasted bit."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

CHUNK_CODES = 1 << 16  # a multiple of 8, so that a chunk ends at a byte; 4 MiB of single bits


def packed_bytes(count: int, bits: int) -> int:
    """Bytes that so many codes take."""
    return math.ceil(count * bits / 8)


def pack_codes(codes: np.ndarray, bits: int) -> np.ndarray:
    """Code k takes the bits from k · bits on, its lowest first, as the bits of a byte are counted.

    codes: (n,) uint64, each below 2^bits; returns: (ceil(n · bits / 8),) uint8
    """
    parts = []
    for start in range(0, len(codes), CHUNK_CODES):
        octets = codes[start : start + CHUNK_CODES].astype("<u8").view(np.uint8).reshape(-1, 8)
        single = np.unpackbits(octets, axis=1, count=bits, bitorder="little")
        parts.append(np.packbits(single.reshape(-1), bitorder="little"))
    return np.concatenate(parts) if parts else np.zeros(0, np.uint8)


def unpack_codes(packed: np.ndarray, bits: int, count: int) -> Iterator[np.ndarray]:
    """The codes that `pack_codes` was given, in order, some at a time. yields: (≤ n,) uint64"""
    for start in range(0, count, CHUNK_CODES):
        held = min(CHUNK_CODES, count - start)
        first = start * bits // 8
        octets = packed[first : first + packed_bytes(held, bits)]
        single = np.unpackbits(octets, count=held * bits, bitorder="little").reshape(held, bits)
        wide = np.zeros((held, 64), dtype=np.uint8)
        wide[:, :bits] = single
        yield np.packbits(wide, axis=1, bitorder="little").view("<u8").reshape(-1)
