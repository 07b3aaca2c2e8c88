"""The one form in memory of a quantized weight matrix, whatever method made it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pare_backends.failures import StageFailure

HALF_RELATIVE_ERROR = 2.0**-10
"""Largest relative error of rounding a normal float32 to float16, with room for its last bit."""


@dataclass(frozen=True)
class QuantizedTensor:
    """weight ≈ (ints − zero_points) · scales, a zero point and a scale for each group of a row.

    Letters: o rows (out_features), i columns (in_features), g groups a row.
    """

    ints: np.ndarray  # (o, i) int8, from −2^(bits−1) to 2^(bits−1) − 1
    scales: np.ndarray  # (o, g) float32, not 0; a group may have a negative one
    zero_points: np.ndarray | None  # (o, g) int8 in the range of ints; None where symmetric
    bits: int  # 2, 3, 4 or 8
    group_size: int  # columns that share a scale; −1 = the whole row
    activation_bits: int | None = None  # 8: inputs are quantized as the model runs
    activation_group_size: int = -1  # columns of an input that share a scale; −1 = the whole row
    transposed: bool = False  # the model's own weight is (i, o), as that of a Conv1D

    @property
    def symmetric(self) -> bool:
        return self.zero_points is None

    @property
    def shape(self) -> tuple[int, int]:
        return (int(self.ints.shape[0]), int(self.ints.shape[1]))

    @property
    def scale_dtype(self) -> type[np.float16] | type[np.float32]:
        """float16 wherever it holds the scales to its own precision; float32 for tiny ones,
        which float16 would flush towards zero."""
        return np.float16 if fits_half(self.scales) else np.float32

    def dequantize(self) -> np.ndarray:
        """The weights that the integers stand for.

        returns: (o, i) float32
        """
        rows, columns = self.ints.shape
        groups = self.ints.reshape(rows, self.scales.shape[1], -1).astype(np.float32)
        if self.zero_points is not None:
            groups -= self.zero_points[:, :, None].astype(np.float32)
        groups *= self.scales[:, :, None].astype(np.float32)
        return groups.reshape(rows, columns)

    def check(self, name: str) -> None:
        """Raises `StageFailure` where the parts do not fit together or are no numbers."""
        rows, columns = self.ints.shape
        width = columns if self.group_size == -1 else self.group_size
        if columns % width != 0:
            raise StageFailure(
                "invalid",
                f"Cannot quantize {name} in groups of {width}: it must divide the row's {columns}"
                " weights",
            )
        if self.scales.shape != (rows, columns // width):
            raise StageFailure(
                "crash",
                f"Cannot store {name}: its scales are {self.scales.shape}, expected"
                f" {(rows, columns // width)}",
            )
        if not np.isfinite(self.scales).all():
            raise StageFailure("not_a_number", f"Cannot quantize {name}: its scales are not finite")


def fits_half(scales: np.ndarray) -> bool:
    """Whether float16 holds every scale to its usual relative precision."""
    with np.errstate(over="ignore"):
        rounded = scales.astype(np.float16).astype(np.float32)
    error = np.abs(rounded - scales.astype(np.float32))
    return bool((error <= HALF_RELATIVE_ERROR * np.abs(scales)).all())


def stored_scales(scales: np.ndarray) -> np.ndarray:
    """The scales as they will be read back from disk, so that integers are chosen for them.

    scales: (o, g) float32; returns: the same shape and dtype
    """
    if not fits_half(scales):
        return scales.astype(np.float32)
    return scales.astype(np.float16).astype(np.float32)
