"""Plain floats, of any shape: what no method has put into another form."""

from __future__ import annotations

import numpy as np

FLOAT_BITS = 16  # float16, but for the rare tensor that it cannot hold
HALF_LARGEST = 65504.0


def half(values: np.ndarray) -> np.ndarray:
    """float16, or float32 where float16 would overflow; integers as they are."""
    if values.dtype.kind != "f":
        return values
    if values.size and float(np.abs(values).max()) > HALF_LARGEST:
        return values.astype(np.float32)
    return values.astype(np.float16)
