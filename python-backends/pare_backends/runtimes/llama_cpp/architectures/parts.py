"""Tensors of a checkpoint that are several in a GGUF file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Parts:
    """The rows of a tensor, by turns or in equal shares behind each other."""

    names: tuple[str, ...]  # what their names have for the tensor's ending
    by_turns: bool = False

    def apart(self, data: np.ndarray, axis: int) -> list[np.ndarray]:
        """data: floats or bytes of blocks; axis: that of the rows"""
        count = len(self.names)
        if not self.by_turns:
            return [np.ascontiguousarray(one) for one in np.split(data, count, axis)]
        return [
            np.ascontiguousarray(np.take(data, range(at, data.shape[axis], count), axis))
            for at in range(count)
        ]

    def joined(self, parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
        """The tensor of `apart`."""
        if not self.by_turns:
            return np.concatenate(parts, axis)
        shape = list(parts[0].shape)
        shape[axis] *= len(parts)
        return np.stack(parts, axis + 1).reshape(shape)
