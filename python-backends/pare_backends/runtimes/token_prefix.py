"""What two sequences of tokens begin with."""

from __future__ import annotations

import numpy as np


def shared_length(one: np.ndarray, other: np.ndarray) -> int:
    """How many tokens both begin with. one, other: (n,) and (m,) int64"""
    size = min(len(one), len(other))
    unequal = np.flatnonzero(one[:size] != other[:size])
    return int(unequal[0]) if len(unequal) else size
