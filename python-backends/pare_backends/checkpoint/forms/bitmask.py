"""Bitmask: a bit for every weight and, of those that are not zero, the values in float16.

What pruning leaves, so that zeros cost a bit and not sixteen: (1 + 16 · (1 − s)) bits per weight at
a sparsity s, 9 at one half. A pattern such as 2:4 is stored in the same form: its own index, two
positions of four, would take 0.75 to 1 bit a weight (log2 6 / 4 to 2 · 2 / 4) and no public library
reads one any more, so a second form would save at most 0.25 of 9 bits.

The values lie under the weight's own name, in one dimension: a loader that does not know the form
meets a wrong shape and stops, where a weight that was missing would be drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from pare_backends.checkpoint.forms.floats import half
from pare_backends.checkpoint.forms.form import StoredTensor
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

VERSION = 1
BYTES_A_DIMENSION = 8  # the shape is int64


@dataclass(frozen=True)
class BitmaskTensor(StoredTensor):
    """weight = the values in the places whose bit is set, zero elsewhere.

    Places are counted row by row, the lowest bit of a byte first. The weight lies as the model
    holds it, so it may have any shape.
    """

    FORM: ClassVar[str] = "bitmask"
    PARTS: ClassVar[tuple[str, ...]] = (".weight", ".weight_mask", ".weight_shape")
    REPLACEABLE: ClassVar[bool] = True
    STATE: ClassVar[str] = "pruned"
    OWN_LOADER: ClassVar[str | None] = "stored as a bitmask with the weights that are not zero"

    mask: np.ndarray  # (ceil(n / 8),) uint8; the bits behind the last weight are 0
    values: np.ndarray  # (bits that are set,) float16; float32 where float16 would overflow
    dimensions: tuple[int, ...]

    @classmethod
    def of(cls, weights: np.ndarray) -> Self:
        """The weights in this form. weights: float, as the model holds them"""
        flat = half(np.ascontiguousarray(weights)).reshape(-1)
        kept = flat != 0
        mask = np.packbits(kept, bitorder="little")
        return cls(mask, flat[kept], tuple(int(n) for n in weights.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.dimensions

    def kept(self) -> np.ndarray:
        """Which weights have a value. returns: the weight's shape, bool"""
        bits = np.unpackbits(self.mask, count=self.size, bitorder="little")
        return bits.view(bool).reshape(self.dimensions)

    def weight(self) -> np.ndarray:
        return self.dense().astype(np.float32)

    def dense(self) -> np.ndarray:
        """The weight with its zeros, in the type of its values."""
        weights = np.zeros(self.dimensions, dtype=self.values.dtype)
        weights[self.kept()] = self.values
        return weights

    def parts(self) -> dict[str, np.ndarray]:
        return {
            ".weight": self.values,
            ".weight_mask": self.mask,
            ".weight_shape": np.array(self.dimensions, dtype=np.int64),
        }

    def formula_bytes(self) -> int:
        """A bit a weight in whole bytes, the values, the dimensions."""
        values = int(self.values.size) * self.values.dtype.itemsize
        return math.ceil(self.size / 8) + values + BYTES_A_DIMENSION * len(self.dimensions)

    def check(self, name: str) -> None:
        bits = int(np.bitwise_count(self.mask).sum())
        if self.mask.shape != (math.ceil(self.size / 8),) or self.values.shape != (bits,):
            raise CallFailure(
                "bad_input",
                f"Cannot read {name}: its mask has {self.mask.size} bytes with {bits} bits set, for"
                f" {self.size} weights and {self.values.size} values",
                hint="The checkpoint is damaged: copy or make it again",
            )
        if not np.isfinite(self.values).all():
            raise CallFailure("not_a_number", f"Cannot store {name}: its weights are not finite")

    @classmethod
    def layers(cls, names: Collection[str]) -> list[str]:
        return [n.removesuffix(".weight_mask") for n in names if n.endswith(".weight_mask")]

    @classmethod
    def read(cls, stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> Self:
        values, mask, shape = cls.found_parts(stored, layer)
        tensor = cls(mask, values, tuple(int(n) for n in shape))
        tensor.check(layer)
        return tensor

    @classmethod
    def config_entry(cls, tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {"version": VERSION, "layers": sorted(tensors)}
