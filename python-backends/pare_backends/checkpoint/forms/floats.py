"""Plain floats, of any shape: what no method has put into another form."""

from __future__ import annotations

import numpy as np

FLOAT_BITS = 16  # of float16 and bfloat16, but for the rare tensor that float16 cannot hold
HALF_LARGEST = 65504.0
BFLOAT16 = np.dtype([("bfloat16", "<u2")])
"""numpy has no such type: its two bytes under its name, to be written, not to be computed with."""


def half(values: np.ndarray) -> np.ndarray:
    """float16, or float32 where float16 would overflow; integers as they are."""
    if values.dtype.kind != "f":
        return values
    if overflows(values):
        return values.astype(np.float32)
    return values.astype(np.float16)


def overflows(values: np.ndarray) -> bool:
    """Whether float16 cannot hold one of these floats."""
    return bool(values.size) and float(np.abs(values).max()) > HALF_LARGEST


def kept(values: np.ndarray, dtype: str) -> np.ndarray:
    """Floats in a type, float16 where it can hold them; integers as they are."""
    if values.dtype.kind != "f":
        return values
    if dtype == "float32":
        return values.astype(np.float32)
    return bfloat16(values) if dtype == "bfloat16" else half(values)


def bfloat16(values: np.ndarray) -> np.ndarray:
    """The nearest bfloat16, halfway to the even one. returns: the same shape, `BFLOAT16`"""
    bits = np.asarray(values, np.float32, order="C").view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    # A number that is none has its mark where rounding would carry it out of the word.
    rounded = np.where(np.isnan(values), np.uint32(0x7FC0), rounded)
    return np.asarray(rounded.astype(np.uint16)).view(BFLOAT16)


def read_back(values: np.ndarray) -> np.ndarray:
    """A kept tensor as a reader has it: bfloat16 as float32, others as they are."""
    if values.dtype != BFLOAT16:
        return values
    return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
