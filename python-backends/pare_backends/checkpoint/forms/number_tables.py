"""Numbers of few bits that are no uniform grid, by their code: what a code stands for before its
block's scale, and the number nearest to a float.

NF4 and FP4 are bitsandbytes' own tables (functional.py, get_4bit_type), DYNAMIC its signed map for
scales (create_dynamic_map); E2M1 and E4M3 are those of the OCP specifications of 8-bit floats (1.0)
and of microscaling formats (1.0).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635),
    *(-0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725),
    *(0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941),
    *(0.7229568362236023, 1.0),
)
FP4_TWELFTHS = (0, 0.0625, 8, 12, 4, 6, 2, 3, -0.0, -0.0625, -8, -12, -4, -6, -2, -3)
E2M1_LARGEST, E4M3_LARGEST = 6.0, 448.0


class NumberTable(NamedTuple):
    """The numbers that codes of so many bits stand for."""

    bits: int
    values: np.ndarray  # (2^bits,) float32 by code; NaN: a code that no number has
    even_ties: bool  # halfway between two, the even code; else bitsandbytes': the first code


def minifloat(exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """Every code's value, of a float without infinities. returns: (2^bits,) float32"""
    codes = np.arange(1 << (1 + exponent_bits + mantissa_bits))
    mantissa = codes & ((1 << mantissa_bits) - 1)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    normal = np.ldexp(1.0 + mantissa / (1 << mantissa_bits), exponent - bias)
    below = np.ldexp(mantissa / (1 << mantissa_bits), 1 - bias)
    sign = np.where(codes >> (exponent_bits + mantissa_bits), -1.0, 1.0)
    return (sign * np.where(exponent == 0, below, normal)).astype(np.float32)


def dynamic_map() -> np.ndarray:
    """bitsandbytes' signed 8-bit map with 7 bits of exponent at most. returns: (256,) rising"""
    data = [0.0, 1.0]
    for step in range(7):
        edges = torch_linspace(2**step + 1)
        means = ((edges[:-1] + edges[1:]) / np.float32(2)) * np.float32(10.0 ** (step - 6))
        data += [*means.tolist(), *(-means).tolist()]
    return np.array(sorted(data), dtype=np.float32)


def torch_linspace(count: int) -> np.ndarray:
    """From 0.1 to 1 as torch.linspace rounds it: steps from the nearer end, each rounded once.
    returns: float32"""
    places = np.arange(count, dtype=np.float64)
    step = float((np.float32(1) - np.float32(0.1)) / np.float32(count - 1))
    upper = 1 - step * (count - 1 - places)
    return np.where(places < count // 2, np.float32(0.1) + step * places, upper).astype(np.float32)


@cache
def table(name: str) -> NumberTable:
    """The table of this name: nf4, fp4, e2m1, e4m3 or dynamic."""
    if name == "nf4":
        return NumberTable(4, np.array(NF4, np.float32), False)
    if name == "fp4":
        twelfths = np.array(FP4_TWELFTHS, np.float32)
        return NumberTable(4, twelfths / np.float32(12), False)
    if name == "e2m1":
        return NumberTable(4, minifloat(2, 1), True)
    if name == "e4m3":
        values = minifloat(4, 3)
        values[[0x7F, 0xFF]] = np.nan
        return NumberTable(8, values, True)
    return NumberTable(8, dynamic_map(), False)


@cache
def steps(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(codes by rising value, the middles between them, whether a middle goes up)."""
    _, values, even_ties = table(name)
    # Two codes of one value, +0 and -0: the first is taken.
    distinct = {float(value): code for code, value in reversed(list(enumerate(values.tolist())))}
    rising = sorted(value for value in distinct if not np.isnan(value))
    codes = np.array([distinct[value] for value in rising])
    held = np.array(rising, dtype=np.float32)
    lower, upper = codes[:-1], codes[1:]
    up = lower % 2 == 1 if even_ties else upper < lower
    return codes.astype(np.uint8), (held[:-1] + held[1:]) / np.float32(2), up


def nearest_codes(name: str, numbers: np.ndarray) -> np.ndarray:
    """The code of the nearest value, the outermost for what lies beyond it.

    numbers: float32 of any shape; returns: uint8 of the same shape
    """
    codes, middles, up = steps(name)
    place = np.searchsorted(middles, numbers, side="left")  # on a middle: the value below it
    inner = np.minimum(place, len(middles) - 1)
    tie = (middles[inner] == numbers) & up[inner] & (place < len(middles))
    return codes[place + tie]
