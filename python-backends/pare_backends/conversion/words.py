"""Integers in 32-bit words as GPTQ's and AWQ's files hold them: unsigned, along either side.

The stream of bits is compressed-tensors' (`checkpoint/forms/packing.py`): value k takes the bits
from k·bits on, lowest first. GPTQ's three words of 32 3-bit values are the same stream.
"""

from __future__ import annotations

import numpy as np

from pare_backends.checkpoint.forms.packing import pack, unpack

AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
"""Which of eight columns each nibble of AWQ's word holds, lowest first."""


def down(values: np.ndarray, bits: int) -> np.ndarray:
    """Words that run along the columns of values, which stand as rows.

    values: (o, i) int8 around zero; returns: (i · bits / 32, o) int32
    """
    return np.ascontiguousarray(pack(values, bits).T)


def undo_down(words: np.ndarray, bits: int, columns: int) -> np.ndarray:
    """returns: (o, columns) int32, from 0 on"""
    return unsigned(unpack(np.ascontiguousarray(words.T), bits, columns), bits)


def across(values: np.ndarray, bits: int) -> np.ndarray:
    """Words that run along the rows of values.

    values: (o, n) int8 around zero; returns: (n, o · bits / 32) int32
    """
    return pack(np.ascontiguousarray(values.T), bits)


def undo_across(words: np.ndarray, bits: int, rows: int) -> np.ndarray:
    """returns: (rows, n) int32, from 0 on"""
    return unsigned(unpack(words, bits, rows), bits).T


def interleaved(values: np.ndarray) -> np.ndarray:
    """4-bit words along the rows, their nibbles in AWQ's order.

    values: (o, n) int8 around zero; returns: (n, o / 8) int32
    """
    eights = values.T.reshape(values.shape[1], -1, len(AWQ_ORDER))
    return pack(np.ascontiguousarray(eights[:, :, AWQ_ORDER]).reshape(values.shape[1], -1), 4)


def undo_interleaved(words: np.ndarray, rows: int) -> np.ndarray:
    """returns: (rows, n) int32, from 0 on"""
    eights = unsigned(unpack(words, 4, rows), 4).reshape(len(words), -1, len(AWQ_ORDER))
    return eights[:, :, np.argsort(AWQ_ORDER)].reshape(len(words), rows).T


def unsigned(values: np.ndarray, bits: int) -> np.ndarray:
    """Values around zero as those from 0 on."""
    return values.astype(np.int32) + (1 << (bits - 1))
