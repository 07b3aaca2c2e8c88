"""Grid: integers of 1 to 8 bits with a scale, and maybe a zero point, for each group of a row.

What every quantizer of whole numbers leaves. On disk it is compressed-tensors' layout, in memory
the integers lie one a byte.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from pare_backends.checkpoint.forms.floats import BFLOAT16, bfloat16, read_back
from pare_backends.checkpoint.forms.form import StoredTensor
from pare_backends.checkpoint.forms.grid_config import (
    Scheme,
    declared_bits,
    input_rounding,
    is_transposed,
    quantization_config,
)
from pare_backends.checkpoint.forms.packing import pack, packed_columns, unpack
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

HALF_RELATIVE_ERROR = 2.0**-10
"""Largest relative error of rounding a normal float32 to float16, with room for its last bit."""
SCALE_TYPES = {"BF16": "bfloat16", "F32": "float32"}
"""Types of scales that a file may have, but for the usual float16, by safetensors' names."""
SHAPE_BYTES = 16  # a packed layer carries its two dimensions as int64


@dataclass(frozen=True)
class GridTensor(StoredTensor):
    """weight ≈ (ints − zero_points) · scales, a zero point and a scale for each group of a row.

    Letters: o rows (out_features), i columns (in_features), g groups a row.
    """

    FORM: ClassVar[str] = "grid"
    PARTS: ClassVar[tuple[str, ...]] = (
        ".weight",
        ".weight_packed",
        ".weight_scale",
        ".weight_zero_point",
        ".weight_shape",
        ".input_scale",
    )
    REPLACEABLE: ClassVar[bool] = False
    STATE: ClassVar[str] = "quantized"

    ints: np.ndarray  # (o, i) int8, from −2^(bits−1) to 2^(bits−1) − 1
    scales: np.ndarray  # (o, g) float32, not 0; a group may have a negative one
    zero_points: np.ndarray | None  # (o, g) int8 in the range of ints; None where symmetric
    bits: int  # 2, 3, 4 or 8
    group_size: int  # columns that share a scale; −1 = the whole row
    activation_bits: int | None = None  # 8: inputs are quantized as the model runs
    activation_group_size: int = -1  # columns of an input that share a scale; −1 = the whole row
    transposed: bool = False  # the model's own weight is (i, o), as that of a Conv1D
    activation_scale: float | None = None  # of all inputs, fixed; None: found as the model runs
    scales_as: str | None = None  # bfloat16, float32; None: float16 wherever that holds them

    @property
    def symmetric(self) -> bool:
        return self.zero_points is None

    @property
    def scheme(self) -> Scheme:
        """The config group that it belongs to."""
        return Scheme(
            self.bits,
            self.group_size,
            self.symmetric,
            self.activation_bits or 0,
            self.activation_group_size,
            self.transposed,
            self.activation_scale is not None,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        rows, columns = (int(n) for n in self.ints.shape)
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def scale_dtype(self) -> type[np.float16] | type[np.float32]:
        """float16 wherever it holds the scales to its own precision; float32 for tiny ones,
        which float16 would flush towards zero."""
        return np.float16 if fits_half(self.scales) else np.float32

    def kept_as(self, dtype: str, renamed: bool) -> Self:
        """Scales of the type that transformers turns them to: it would round them otherwise. Those
        of a renamed layer, such as an expert's, it leaves as they lie, and multiplies out in their
        type. An integer stays the nearest: a bfloat16 scale is at most 1/512 off.
        """
        if dtype == "bfloat16":
            return replace(self, scales=read_back(bfloat16(self.scales)), scales_as=dtype)
        wide = renamed and dtype == "float32"
        return replace(self, scales_as="float32") if wide else self

    def kept_scales(self) -> np.ndarray:
        """The scales as they lie on disk."""
        if self.scales_as == "bfloat16":
            return bfloat16(self.scales)
        return self.scales.astype(self.scales_as or self.scale_dtype)

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

    def weight(self) -> np.ndarray:
        """`dequantize` as the model holds it: (i, o) where transposed."""
        return self.dequantize().T if self.transposed else self.dequantize()

    def parts(self) -> dict[str, np.ndarray]:
        scales = self.kept_scales()
        if self.activation_bits is not None:
            fixed = self.activation_scale
            inputs = {} if fixed is None else {".input_scale": np.array([fixed], np.float32)}
            return {".weight": self.ints, ".weight_scale": scales, **inputs}
        parts = {
            ".weight_packed": pack(self.ints, self.bits),
            ".weight_scale": scales,
            ".weight_shape": np.array(self.ints.shape, dtype=np.int64),
        }
        if self.zero_points is not None:
            by_group = np.ascontiguousarray(self.zero_points.T)
            parts[".weight_zero_point"] = np.ascontiguousarray(pack(by_group, self.bits).T)
        return parts

    def formula_bytes(self) -> int:
        """Integers, scales and zero points, whole words a row."""
        rows, columns = self.ints.shape
        groups = self.scales.shape[1]
        kind = BFLOAT16 if self.scales_as == "bfloat16" else self.scales_as or self.scale_dtype
        scales = rows * groups * np.dtype(kind).itemsize
        if self.activation_bits is not None:
            return rows * columns + scales + (0 if self.activation_scale is None else 4)
        packed = rows * packed_columns(columns, self.bits) * 4
        zeros = 0 if self.symmetric else packed_columns(rows, self.bits) * groups * 4
        return packed + scales + zeros + SHAPE_BYTES

    def check(self, name: str) -> None:
        rows, columns = self.ints.shape
        width = columns if self.group_size == -1 else self.group_size
        if columns % width != 0:
            raise CallFailure(
                "invalid",
                f"Cannot quantize {name} in groups of {width}: it must divide the row's {columns}"
                " weights",
            )
        if self.scales.shape != (rows, columns // width):
            raise CallFailure(
                "crash",
                f"Cannot store {name}: its scales are {self.scales.shape}, expected"
                f" {(rows, columns // width)}",
            )
        inputs = 1.0 if self.activation_scale is None else self.activation_scale
        if not (np.isfinite(self.scales).all() and np.isfinite(inputs) and inputs > 0):
            raise CallFailure("not_a_number", f"Cannot quantize {name}: its scales are not finite")

    @classmethod
    def layers(cls, names: Collection[str]) -> list[str]:
        return [n.removesuffix(".weight_scale") for n in names if n.endswith(".weight_scale")]

    @classmethod
    def read(cls, stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> Self:
        """The group size follows from the parts' shapes."""
        scales = stored[f"{layer}.weight_scale"].astype(np.float32)
        if f"{layer}.weight_packed" not in stored:
            ints = stored[f"{layer}.weight"]
            if ints.dtype != np.int8:
                raise CallFailure(
                    "bad_input", f"Cannot read {layer}: its weights are {ints.dtype}, expected int8"
                )
            bits, columns, zero_points = 8, ints.shape[1], None
        else:
            packed = stored[f"{layer}.weight_packed"]
            rows, columns = (int(n) for n in stored[f"{layer}.weight_shape"])
            bits = declared_bits(config, layer, packed.shape[1], columns)
            ints = unpack(packed, bits, columns)
            zero_points = None
            if f"{layer}.weight_zero_point" in stored:
                zero_packed = np.ascontiguousarray(stored[f"{layer}.weight_zero_point"].T)
                zero_points = np.ascontiguousarray(unpack(zero_packed, bits, rows).T)
        groups = scales.shape[1]
        group_size = -1 if groups == 1 else columns // groups
        input_bits, input_group = input_rounding(config, layer) or (None, -1)
        fixed = None
        if f"{layer}.input_scale" in stored:
            fixed = float(stored[f"{layer}.input_scale"].reshape(-1)[0])
        return cls(
            *(ints, scales, zero_points, bits, group_size, input_bits, input_group),
            transposed=is_transposed(config, layer),
            activation_scale=fixed,
            scales_as=SCALE_TYPES.get(stored.kind(f"{layer}.weight_scale") or ""),
        )

    @classmethod
    def config_entry(cls, tensors: Mapping[str, Any]) -> dict[str, Any]:
        schemes = {layer: tensor.scheme for layer, tensor in tensors.items()}
        return {"quantization_config": quantization_config(schemes)}


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
