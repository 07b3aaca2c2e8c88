"""The integers in llama.cpp's blocks: which values a block's scales let each weight have, and the
same blocks with other integers.

A block is scales and, for each weight, a code of 2 to 8 bits. With the scales as they are a weight
is `least + step * code`, or `step * table[code]` where the kind has a table. Both are read off what
gguf-py makes of blocks in which every code is the same, so that only the places of the codes are
known here. The layouts are ggml's (ggml-quants.c of https://github.com/ggml-org/llama.cpp).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pare_backends.checkpoint import GgmlTensor
from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS

TABLED = ("IQ4_NL", "IQ4_XS")
"""Kinds of which a code stands for gguf-py's IQ4_NL.kvalues, times the scale."""


@dataclass(frozen=True)
class CodedGrid:
    """The values that each weight may have. o: rows, i: columns"""

    least: np.ndarray  # (o, i) float32: of code 0; zeros where there is a table
    step: np.ndarray  # (o, i) float32: to the next code, maybe below 0; times the table
    codes: int  # from 0 on
    table: np.ndarray | None


def has_codes(kind: str) -> bool:
    """Whether each weight of a block has a code of its own; those of some kinds share them."""
    return kind in WRITERS


def grid_of(tensor: GgmlTensor) -> CodedGrid:
    """The grid that the tensor's scales leave."""
    from gguf.quants import IQ4_NL

    last = 2 ** BITS[tensor.kind] - 1
    highest = with_codes(tensor, np.full(tensor.matrix_shape, last, np.uint8)).dequantize()
    if tensor.kind in TABLED:
        table = np.array(IQ4_NL.kvalues, np.float32)
        return CodedGrid(np.zeros_like(highest), highest / table[last], last + 1, table)
    least = with_codes(tensor, np.zeros(tensor.matrix_shape, np.uint8)).dequantize()
    return CodedGrid(least, (highest - least) / last, last + 1, None)


def with_codes(tensor: GgmlTensor, codes: np.ndarray) -> GgmlTensor:
    """The tensor with these integers and its own scales. codes: (o, i) uint8"""
    width, octets = BLOCK_KINDS[tensor.kind][1:]
    blocks = tensor.blocks.reshape(-1, octets).copy()
    WRITERS[tensor.kind](blocks, codes.reshape(-1, width))
    return replace(tensor, blocks=blocks.reshape(tensor.blocks.shape))


def in_halves(codes: np.ndarray) -> np.ndarray:
    """Codes of 4 bits, two a byte: the first half of them in the low ones. codes: (…, 2 n)"""
    half = codes.shape[-1] // 2
    packed: np.ndarray = (codes[..., :half] & 15) | ((codes[..., half:] & 15) << 4)
    return packed


def halves_at(start: int, run: int) -> Callable[[np.ndarray, np.ndarray], None]:
    """Writes 4 bits of each code from byte `start` on, `run` codes in turn by halves."""

    def write(blocks: np.ndarray, codes: np.ndarray) -> None:
        packed = in_halves(codes.reshape(len(codes), -1, run)).reshape(len(codes), -1)
        blocks[:, start : start + packed.shape[1]] = packed

    return write


def fifths_at(start: int) -> Callable[[np.ndarray, np.ndarray], None]:
    """Blocks of 32 with 5 bits: the highest of all from byte `start` on, then the others."""

    def write(blocks: np.ndarray, codes: np.ndarray) -> None:
        blocks[:, start : start + 4] = np.packbits(codes >> 4, axis=1, bitorder="little")
        blocks[:, start + 4 : start + 20] = in_halves(codes)

    return write


def bytes_at(start: int) -> Callable[[np.ndarray, np.ndarray], None]:
    """Blocks of 32 with a byte each, which is signed."""

    def write(blocks: np.ndarray, codes: np.ndarray) -> None:
        blocks[:, start : start + 32] = codes - np.uint8(128)  # goes round below 0

    return write


def in_pairs(codes: np.ndarray) -> np.ndarray:
    """The low 2 bits of 256 codes: byte l of a half holds those of l, l + 32, l + 64 and l + 96."""
    quarters = codes.reshape(len(codes), 2, 4, 32) & 3
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    packed: np.ndarray = np.bitwise_or.reduce(quarters << shifts, axis=2).reshape(len(codes), 64)
    return packed


def write_q2_k(blocks: np.ndarray, codes: np.ndarray) -> None:
    blocks[:, 16:80] = in_pairs(codes)


def write_q3_k(blocks: np.ndarray, codes: np.ndarray) -> None:
    """Bit b of byte l holds the third bit of code 32 b + l."""
    third = (codes >> 2).reshape(len(codes), 8, 32) << np.arange(8, dtype=np.uint8)[:, None]
    blocks[:, 0:32] = np.bitwise_or.reduce(third, axis=1)
    blocks[:, 32:96] = in_pairs(codes)


def write_q5_k(blocks: np.ndarray, codes: np.ndarray) -> None:
    """Bit b of byte l holds the fifth bit of code 32 b + l."""
    fifth = (codes >> 4).reshape(len(codes), 8, 32) << np.arange(8, dtype=np.uint8)[:, None]
    blocks[:, 16:48] = np.bitwise_or.reduce(fifth, axis=1)
    blocks[:, 48:176] = in_halves(codes.reshape(len(codes), 4, 64)).reshape(len(codes), -1)


def write_q6_k(blocks: np.ndarray, codes: np.ndarray) -> None:
    blocks[:, 0:128] = in_halves(codes.reshape(len(codes), 2, 128)).reshape(len(codes), -1)
    blocks[:, 128:192] = in_pairs(codes >> 4)


BITS = {
    **{"Q4_0": 4, "Q4_1": 4, "Q5_0": 5, "Q5_1": 5, "Q8_0": 8, "IQ4_NL": 4, "IQ4_XS": 4},
    **{"Q2_K": 2, "Q3_K": 3, "Q4_K": 4, "Q5_K": 5, "Q6_K": 6},
}
"""Of a code."""

WRITERS: dict[str, Callable[[np.ndarray, np.ndarray], None]] = {
    "Q4_0": halves_at(2, 32),
    "Q4_1": halves_at(4, 32),
    "Q5_0": fifths_at(2),
    "Q5_1": fifths_at(4),
    "Q8_0": bytes_at(2),
    "IQ4_NL": halves_at(2, 32),
    "IQ4_XS": halves_at(8, 32),
    "Q2_K": write_q2_k,
    "Q3_K": write_q3_k,
    "Q4_K": halves_at(16, 64),
    "Q5_K": write_q5_k,
    "Q6_K": write_q6_k,
}
