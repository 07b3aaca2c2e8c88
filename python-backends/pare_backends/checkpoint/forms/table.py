"""Table: each weight is a code into a table of 16 or 256 numbers, times the scale of its block.

The formats are NF4 and FP4 of bitsandbytes (blocks of a matrix row after row, a float32 scale, or
doubly quantized: the scales themselves in 8 bits by blocks of 256), FP8 (E4M3, a float32 scale a
row or a matrix), and the microscaling formats MXFP4 (E2M1, blocks of 32, scales that are powers of
two) and NVFP4 (E2M1, blocks of 16, E4M3 scales times one float32 of the matrix).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pare_backends.checkpoint.forms.form import StoredTensor
from pare_backends.checkpoint.forms.number_tables import table
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

VERSION = 1
SCALE_BLOCK = 256
"""Scales that share a scale of their own where they are doubly quantized."""
PROFILE_BYTES, BYTES_A_DIMENSION = 16, 8
SCALES = ("float32", "dynamic", "e8m0", "e4m3")
"""How a block's scale is stored."""


class TableFormat(NamedTuple):
    """A table and the kind of its scales."""

    name: str
    numbers: str  # the table's name
    scales: str  # of SCALES

    @property
    def bits(self) -> int:
        return table(self.numbers).bits


FORMATS = (
    TableFormat("nf4", "nf4", "float32"),
    TableFormat("nf4_double", "nf4", "dynamic"),
    TableFormat("fp4", "fp4", "float32"),
    TableFormat("fp4_double", "fp4", "dynamic"),
    TableFormat("fp8_e4m3", "e4m3", "float32"),
    TableFormat("mxfp4", "e2m1", "e8m0"),
    TableFormat("nvfp4", "e2m1", "e4m3"),
)
"""By their number in the files: a further one is added at the end."""


def format_named(name: str) -> TableFormat:
    return next(each for each in FORMATS if each.name == name)


class BlockScales(NamedTuple):
    """The scales as they lie on disk."""

    codes: np.ndarray  # (blocks,) float32, or uint8 where they are codes themselves
    of_scales: np.ndarray  # float32: e4m3: (1,); dynamic: (1 + blocks / 256,), their mean first

    def values(self, kind: str) -> np.ndarray:
        """The numbers to multiply by. returns: (blocks,) float32"""
        if kind == "float32":
            return self.codes.astype(np.float32)
        if kind == "e8m0":
            return np.ldexp(np.float32(1), self.codes.astype(np.int32) - 127).astype(np.float32)
        if kind == "e4m3":
            scales: np.ndarray = table("e4m3").values[self.codes] * self.of_scales[0]
            return scales
        shares = table("dynamic").values[self.codes]
        each = np.repeat(self.of_scales[1:], SCALE_BLOCK)[: len(shares)]
        return shares * each + self.of_scales[0]

    @staticmethod
    def lengths(kind: str, blocks: int) -> tuple[int, int]:
        """How many codes there are, and how many scales of them."""
        of_scales = {"e4m3": 1, "dynamic": 1 + -(-blocks // SCALE_BLOCK)}.get(kind, 0)
        return blocks, of_scales


@dataclass(frozen=True)
class TableTensor(StoredTensor):
    """The weights lie row after row of (out, in), whichever way the model holds them."""

    FORM: ClassVar[str] = "table"
    PARTS: ClassVar[tuple[str, ...]] = (
        ".weight",
        ".weight_table_profile",
        ".weight_block_scale",
        ".weight_scale_of_scales",
        ".weight_shape",
    )
    REPLACEABLE: ClassVar[bool] = False
    STATE: ClassVar[str] = "quantized"
    OWN_LOADER: ClassVar[str | None] = "stored as codes into a table of numbers"

    codes: np.ndarray  # (ceil(n · bits / 8),) uint8; of four bits the first weight lies high
    scales: BlockScales
    format: TableFormat
    block: int  # weights that share a scale
    matrix: tuple[int, int]  # (out, in)
    transposed: bool = False  # whether the model holds it as (in, out)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.matrix[::-1] if self.transposed else self.matrix

    @property
    def blocks(self) -> int:
        return -(-self.size // self.block)

    def weight(self) -> np.ndarray:
        codes = self.codes
        if self.format.bits == 4:
            codes = np.stack([codes >> 4, codes & 15], axis=1).reshape(-1)[: self.size]
        numbers = table(self.format.numbers).values[codes]
        scales = self.scales.values(self.format.scales)
        numbers *= np.repeat(scales, self.block)[: self.size]
        matrix = numbers.reshape(self.matrix)
        return np.ascontiguousarray(matrix.T) if self.transposed else matrix

    def parts(self) -> dict[str, np.ndarray]:
        number = FORMATS.index(self.format)
        profile = np.array([VERSION, number, self.block, int(self.transposed)], dtype=np.int32)
        return {
            ".weight": self.codes,
            ".weight_table_profile": profile,
            ".weight_block_scale": self.scales.codes,
            ".weight_scale_of_scales": self.scales.of_scales,
            ".weight_shape": np.array(self.matrix, dtype=np.int64),
        }

    def formula_bytes(self) -> int:
        """The codes in whole bytes, the scales, the scales of scales, what is there once."""
        codes = -(-self.size * self.format.bits // 8)
        one_each, of_scales = BlockScales.lengths(self.format.scales, self.blocks)
        each = 4 if self.format.scales == "float32" else 1
        return codes + one_each * each + of_scales * 4 + PROFILE_BYTES + 2 * BYTES_A_DIMENSION

    def check(self, name: str) -> None:
        expected = -(-self.size * self.format.bits // 8)
        lengths = BlockScales.lengths(self.format.scales, self.blocks)
        found = (self.scales.codes.size, self.scales.of_scales.size)
        kind = np.float32 if self.format.scales == "float32" else np.uint8
        typed = self.codes.dtype == np.uint8 and self.scales.codes.dtype == kind
        if self.codes.shape != (expected,) or found != lengths or not typed:
            raise CallFailure(
                "bad_input",
                f"Cannot read {name}: {self.codes.size} bytes of codes with {found[0]} scales are"
                f" not {' by '.join(str(n) for n in self.matrix)} weights in"
                f" {self.format.name} by blocks of {self.block}",
                hint="The checkpoint is damaged: copy or make it again",
            )
        lost = self.format.numbers == "e4m3" and bool(((self.codes & 0x7F) == 0x7F).any())
        if lost or not np.isfinite(self.scales.values(self.format.scales)).all():
            raise CallFailure(
                "not_a_number", f"Cannot store {name}: a weight or a scale of it is not finite"
            )

    @classmethod
    def layers(cls, names: Collection[str]) -> list[str]:
        ending = ".weight_table_profile"
        return [name.removesuffix(ending) for name in names if name.endswith(ending)]

    @classmethod
    def read(cls, stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> Self:
        codes, profile, scales, of_scales, shape = cls.found_parts(stored, layer)
        known = profile.shape == (4,) and profile[0] == VERSION and shape.shape == (2,)
        if not known or not 0 <= profile[1] < len(FORMATS) or profile[2] < 1 or shape.min() < 1:
            raise CallFailure(
                "bad_input",
                f"Cannot read {layer}: this pare knows no such table of numbers",
                hint="Read it with the pare that wrote it, or a later one",
            )
        matrix = (int(shape[0]), int(shape[1]))
        own = FORMATS[int(profile[1])]
        held = BlockScales(scales, of_scales)
        tensor = cls(codes, held, own, int(profile[2]), matrix, bool(profile[3]))
        tensor.check(layer)
        return tensor

    @classmethod
    def config_entry(cls, tensors: Mapping[str, Any]) -> dict[str, Any]:
        formats = {layer: held.format.name for layer, held in sorted(tensors.items())}
        return {"version": VERSION, "layers": sorted(tensors), "formats": formats}
