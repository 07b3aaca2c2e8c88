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

    @property
    def of_rows(self) -> bool:
        """Whether each holds rows as they are, which may be blocks."""
        return True

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


@dataclass(frozen=True)
class LatentParts(Parts):
    """Of a matrix that makes each head's keys and values of a vector, (heads · (width + values),
    rank): keys turned, as queries are multiplied by them, (heads, rank, width), and values,
    (heads, values, rank)."""

    names: tuple[str, ...] = ("k_b_proj.weight", "v_b_proj.weight")
    heads: int = 1
    width: int = 1  # features of a head's keys

    @property
    def of_rows(self) -> bool:
        return False

    def apart(self, data: np.ndarray, axis: int) -> list[np.ndarray]:
        by_head = data.reshape(self.heads, -1, data.shape[-1])
        keys = by_head[:, : self.width].swapaxes(1, 2)
        return [np.ascontiguousarray(one) for one in (keys, by_head[:, self.width :])]

    def joined(self, parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
        keys, values = parts
        by_head = np.concatenate([keys.swapaxes(1, 2), values], axis=1)
        return by_head.reshape(-1, by_head.shape[-1])
