"""Seeds: each block of weights is the seed of a shift register and a few coefficients (SeedLM).

A block of C weights takes K bits of its seed, 4 of an exponent that its P coefficients share and 4
of each coefficient: (K + 4 + 4 · P) / C bits a weight, beside one scale and the shape of a matrix.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pare_backends.checkpoint.forms.bit_codes import pack_codes, packed_bytes, unpack_codes
from pare_backends.checkpoint.forms.form import StoredTensor
from pare_backends.checkpoint.forms.shift_register import TAPS, projections
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

VERSION = 1
NIBBLE = 4  # bits of the exponent and of each coefficient, from −8 to 7
LOWEST = -8
SCALE_BYTES, PROFILE_BYTES, SHAPE_BYTES = 4, 4, 16


class SeedProfile(NamedTuple):
    """What every block of a matrix is made of."""

    seed_bits: int  # K, the width of the register
    block_weights: int  # C, weights of a row that lie side by side
    coefficients: int  # P

    @property
    def block_bits(self) -> int:
        return self.seed_bits + NIBBLE + NIBBLE * self.coefficients

    @property
    def fits(self) -> bool:
        """Whether a block can be read by this pare."""
        return self.seed_bits in TAPS and self.block_weights > 0 and 0 < self.block_bits <= 64


@dataclass(frozen=True)
class SeedTensor(StoredTensor):
    """A block's weights are U · q · 2^e · scale: U the matrix of its seed, q its coefficients, e
    its exponent.

    Decoding is exact: U · q in whole numbers, one product in double precision, rounded to float32.
    Letters: n blocks of the matrix, row by row.
    """

    FORM: ClassVar[str] = "seeds"
    PARTS: ClassVar[tuple[str, ...]] = (
        ".weight",
        ".weight_seed_profile",
        ".weight_seed_scale",
        ".weight_shape",
    )
    REPLACEABLE: ClassVar[bool] = False
    STATE: ClassVar[str] = "encoded"
    OWN_LOADER: ClassVar[str | None] = "stored as seeds with their coefficients"

    codes: np.ndarray  # (ceil(n · bits a block / 8),) uint8: seed lowest, exponent, coefficients
    scale: np.float32  # of the whole matrix
    profile: SeedProfile
    matrix_shape: tuple[int, int]  # (out, in)
    transposed: bool = False  # the model's own weight is (in, out), as that of a Conv1D

    @classmethod
    def of(
        cls,
        seeds: np.ndarray,
        exponents: np.ndarray,
        coefficients: np.ndarray,
        scale: float,
        profile: SeedProfile,
        matrix_shape: tuple[int, int],
        transposed: bool = False,
    ) -> Self:
        """The blocks in this form. seeds: (n,); exponents: (n,) and coefficients: (n, P), from −8
        to 7"""
        nibbles = np.concatenate([exponents[:, None], coefficients], axis=1).astype(np.int64)
        codes = seeds.astype(np.uint64)
        for place, nibble in enumerate(nibbles.T):
            shift = np.uint64(profile.seed_bits + NIBBLE * place)
            codes |= (nibble & 15).astype(np.uint64) << shift
        packed = pack_codes(codes, profile.block_bits)
        return cls(packed, np.float32(scale), profile, matrix_shape, transposed)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.matrix_shape[::-1] if self.transposed else self.matrix_shape

    @property
    def blocks(self) -> int:
        return self.size // self.profile.block_weights

    def weight(self) -> np.ndarray:
        weights = np.empty((self.blocks, self.profile.block_weights), dtype=np.float32)
        done = 0
        for codes in unpack_codes(self.codes, self.profile.block_bits, self.blocks):
            weights[done : done + len(codes)] = self.decoded(codes)
            done += len(codes)
        matrix = weights.reshape(self.matrix_shape)
        return matrix.T if self.transposed else matrix

    def decoded(self, codes: np.ndarray) -> np.ndarray:
        """The blocks of these codes. codes: (b,) uint64; returns: (b, C) float32"""
        width, rows, columns = self.profile
        seeds = (codes & np.uint64((1 << width) - 1)).astype(np.int64)
        if not seeds.all():
            raise CallFailure(
                "bad_input",
                "Cannot decode weights stored as seeds: a block's seed is 0, which no register has",
                hint="The checkpoint is damaged: copy or make it again",
            )
        shifts = width + NIBBLE * np.arange(1 + columns)
        nibbles = (codes[:, None] >> shifts.astype(np.uint64) & np.uint64(15)).astype(np.int64)
        signed = nibbles - 16 * (nibbles >= 8)
        whole = np.zeros((len(codes), rows), dtype=np.int32)
        for table, own in zip(columns_of(self.profile), signed[:, 1:].T, strict=True):
            whole += table[seeds] * own[:, None].astype(np.int32)
        unit = float(self.scale) / ((1 << (width - 1)) - 1)
        return (whole * np.ldexp(unit, signed[:, :1])).astype(np.float32)

    def parts(self) -> dict[str, np.ndarray]:
        return {
            ".weight": self.codes,
            ".weight_seed_profile": np.array([*self.profile, self.transposed], dtype=np.uint8),
            ".weight_seed_scale": np.array([self.scale], dtype=np.float32),
            ".weight_shape": np.array(self.matrix_shape, dtype=np.int64),
        }

    def formula_bytes(self) -> int:
        """The bits of the blocks in whole bytes, the scale, what a block is made of, the shape."""
        blocks = packed_bytes(self.blocks, self.profile.block_bits)
        return blocks + SCALE_BYTES + PROFILE_BYTES + SHAPE_BYTES

    def check(self, name: str) -> None:
        profile, columns = self.profile, self.matrix_shape[1]
        expected = packed_bytes(self.blocks, profile.block_bits) if profile.fits else 0
        if not expected or columns % profile.block_weights or self.codes.shape != (expected,):
            raise CallFailure(
                "bad_input",
                f"Cannot read {name}: {self.codes.size} bytes of blocks of {profile.block_weights}"
                f" weights, {profile.block_bits} bits each, are not {self.matrix_shape[0]} rows of"
                f" {columns} weights",
                hint="The checkpoint is damaged: copy or make it again",
            )
        if not np.isfinite(self.scale):
            raise CallFailure("not_a_number", f"Cannot store {name}: its scale is not finite")

    @classmethod
    def layers(cls, names: Collection[str]) -> list[str]:
        ending = ".weight_seed_scale"
        return [name.removesuffix(ending) for name in names if name.endswith(ending)]

    @classmethod
    def read(cls, stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> Self:
        codes, profile, scale, shape = cls.found_parts(stored, layer)
        width, block, coefficients, transposed = (int(n) for n in profile)
        rows, columns = (int(n) for n in shape)
        own = SeedProfile(width, block, coefficients)
        tensor = cls(codes, np.float32(scale[0]), own, (rows, columns), bool(transposed))
        tensor.check(layer)
        return tensor

    @classmethod
    def config_entry(cls, tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {"version": VERSION, "layers": sorted(tensors)}


@functools.lru_cache(maxsize=2)
def columns_of(profile: SeedProfile) -> tuple[np.ndarray, ...]:
    """The numbers of every seed, column by column: 12 MB for K = 16 and C · P = 48. A row of the
    seed 0 stands first.

    returns: P of (2^K, C) int32
    """
    width, rows, columns = profile
    every = projections(np.arange(1, 1 << width), width, rows, columns).astype(np.int32)
    return tuple(
        np.concatenate([np.zeros((1, rows), np.int32), every[:, :, column]])
        for column in range(columns)
    )
