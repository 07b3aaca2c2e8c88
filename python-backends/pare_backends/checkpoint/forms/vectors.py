"""Vectors: v weights below each other in a column are the number of a centroid (VPTQ, arXiv
2409.17066).

A vector takes c bits of its centroid and r of a second one that is added to it, r = 0 where there
is none: (c + r) / v bits a weight, beside the codebooks, a scale for each row and one for all, and
outlier columns in float16.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pare_backends.checkpoint.forms.bit_codes import pack_codes, packed_bytes, unpack_codes
from pare_backends.checkpoint.forms.form import StoredTensor
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

VERSION = 1
MOST_CODE_BITS, MOST_LENGTH = 16, 64
PROFILE_BYTES, SHAPE_BYTES, SCALE_BYTES, HALF_BYTES, COLUMN_BYTES = 4, 16, 4, 2, 4


class VectorProfile(NamedTuple):
    """What every vector of a matrix is made of."""

    length: int  # v, weights below each other; the last vector of a column may end in nothing
    centroid_bits: int  # c
    residual_bits: int  # r; 0: no second codebook

    @property
    def code_bits(self) -> int:
        return self.centroid_bits + self.residual_bits

    @property
    def centroids(self) -> int:
        """Of both codebooks, the first one's first."""
        return (1 << self.centroid_bits) + (1 << self.residual_bits if self.residual_bits else 0)

    @property
    def fits(self) -> bool:
        """Whether a vector can be read by this pare."""
        first, second = self.centroid_bits, self.residual_bits
        coded = 0 < first <= MOST_CODE_BITS and 0 <= second <= MOST_CODE_BITS
        return coded and 0 < self.length <= MOST_LENGTH

    def vectors(self, rows: int, columns: int) -> int:
        """Vectors of so many columns; the last of a column may reach beyond its end."""
        return -(-rows // self.length) * columns


class Outliers(NamedTuple):
    """Columns that are kept as they are."""

    columns: np.ndarray  # (p,) int32, ascending
    values: np.ndarray  # (o, p) float16, times the scales


@dataclass(frozen=True)
class VectorTensor(StoredTensor):
    """A weight is its number in the sum of its vector's centroids, times its row's scale, times the
    matrix's: each step in float32.

    Letters: o rows, i columns, p of them outliers; n = ceil(o / v) · (i - p) vectors, column after
    column.
    """

    FORM: ClassVar[str] = "vectors"
    PARTS: ClassVar[tuple[str, ...]] = (
        ".weight",
        ".weight_vector_profile",
        ".weight_vector_centroids",
        ".weight_vector_row_scales",
        ".weight_vector_scale",
        ".weight_vector_outliers",
        ".weight_vector_columns",
        ".weight_shape",
    )
    REPLACEABLE: ClassVar[bool] = False
    STATE: ClassVar[str] = "encoded"
    OWN_LOADER: ClassVar[str | None] = "stored as the numbers of vectors in a codebook"

    codes: np.ndarray  # (ceil(n · bits a vector / 8),) uint8: the first centroid lowest
    centroids: np.ndarray  # (2^c + 2^r, v) float16, those of the first codebook first
    row_scales: np.ndarray  # (o,) float16
    scale: np.float32
    outliers: Outliers
    profile: VectorProfile
    matrix_shape: tuple[int, int]  # (out, in)
    transposed: bool = False  # the model's own weight is (in, out), as that of a Conv1D

    @classmethod
    def of(
        cls,
        first: np.ndarray,
        second: np.ndarray | None,
        centroids: np.ndarray,
        scales: tuple[np.ndarray, np.float32],
        outliers: Outliers,
        profile: VectorProfile,
        matrix_shape: tuple[int, int],
        transposed: bool = False,
    ) -> Self:
        """The vectors in this form. first, second: numbers in each codebook, n in any shape, column
        after column; scales: of the rows, of the matrix"""
        codes = first.reshape(-1).astype(np.uint64)
        if second is not None:
            codes |= second.reshape(-1).astype(np.uint64) << np.uint64(profile.centroid_bits)
        packed = pack_codes(codes, profile.code_bits)
        rest = (outliers, profile, matrix_shape, transposed)
        return cls(packed, centroids, scales[0], np.float32(scales[1]), *rest)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.matrix_shape[::-1] if self.transposed else self.matrix_shape

    @property
    def vectors(self) -> int:
        rows, columns = self.matrix_shape
        return self.profile.vectors(rows, columns - len(self.outliers.columns))

    @property
    def padded_rows(self) -> int:
        """Rows that whole vectors cover."""
        return self.profile.vectors(self.matrix_shape[0], 1) * self.profile.length

    def weight(self) -> np.ndarray:
        rows, columns = self.matrix_shape
        coded = np.empty((self.vectors, self.profile.length), dtype=np.float32)
        done = 0
        for codes in unpack_codes(self.codes, self.profile.code_bits, self.vectors):
            coded[done : done + len(codes)] = self.decoded(codes)
            done += len(codes)
        matrix = np.empty((rows, columns), dtype=np.float32)
        inner = np.setdiff1d(np.arange(columns), self.outliers.columns)
        matrix[:, inner] = coded.reshape(len(inner), self.padded_rows)[:, :rows].T
        matrix[:, self.outliers.columns] = self.outliers.values.astype(np.float32)
        matrix *= row_factors(self.row_scales, self.scale)[:, None]
        return matrix.T if self.transposed else matrix

    def decoded(self, codes: np.ndarray) -> np.ndarray:
        """The vectors of these codes. codes: (b,) uint64; returns: (b, v) float32"""
        table = self.centroids.astype(np.float32)
        first = 1 << self.profile.centroid_bits
        found: np.ndarray = table[(codes & np.uint64(first - 1)).astype(np.int64)]
        if self.profile.residual_bits:
            second = codes >> np.uint64(self.profile.centroid_bits)
            found = found + table[first + second.astype(np.int64)]
        return found

    def parts(self) -> dict[str, np.ndarray]:
        return {
            ".weight": self.codes,
            ".weight_vector_profile": np.array([*self.profile, self.transposed], dtype=np.uint8),
            ".weight_vector_centroids": self.centroids,
            ".weight_vector_row_scales": self.row_scales,
            ".weight_vector_scale": np.array([self.scale], dtype=np.float32),
            ".weight_vector_outliers": self.outliers.values,
            ".weight_vector_columns": self.outliers.columns,
            ".weight_shape": np.array(self.matrix_shape, dtype=np.int64),
        }

    def formula_bytes(self) -> int:
        """The bits of the vectors in whole bytes, the codebooks, the scales, the outliers with
        their places, what a vector is made of, the shape."""
        rows, kept = self.matrix_shape[0], len(self.outliers.columns)
        halves = self.profile.centroids * self.profile.length + rows + rows * kept
        vectors = packed_bytes(self.vectors, self.profile.code_bits)
        fixed = SCALE_BYTES + PROFILE_BYTES + SHAPE_BYTES
        return vectors + HALF_BYTES * halves + COLUMN_BYTES * kept + fixed

    def check(self, name: str) -> None:
        self.check_shapes(name)
        numbers = (self.centroids, self.row_scales, self.scale, self.outliers.values)
        if not all(np.isfinite(values).all() for values in numbers):
            raise CallFailure("not_a_number", f"Cannot store {name}: its codebook is not finite")

    def check_shapes(self, name: str) -> None:
        """Raises where the parts are not those of one matrix."""
        rows, columns = self.matrix_shape
        places, profile = self.outliers.columns, self.profile
        inside = places.ndim == 1 and bool(
            ((places >= 0) & (places < columns)).all() and (np.diff(places) > 0).all()
        )
        fits = (
            profile.fits
            and inside
            and self.codes.shape == (packed_bytes(self.vectors, profile.code_bits),)
            and self.centroids.shape == (profile.centroids, profile.length)
            and self.row_scales.shape == (rows,)
            and self.outliers.values.shape == (rows, len(places))
        )
        if not fits:
            raise CallFailure(
                "bad_input",
                f"Cannot read {name}: {self.codes.size} bytes of vectors of {profile.length}"
                f" weights, {profile.code_bits} bits each, with {len(self.centroids)} centroids,"
                f" are not {rows} rows of {columns} weights",
                hint="The checkpoint is damaged: copy or make it again",
            )

    @classmethod
    def layers(cls, names: Collection[str]) -> list[str]:
        ending = ".weight_vector_scale"
        return [name.removesuffix(ending) for name in names if name.endswith(ending)]

    @classmethod
    def read(cls, stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> Self:
        parts = cls.found_parts(stored, layer)
        codes, made, centroids, row_scales, scale, values, places, shape = parts
        length, first, second, transposed = (int(n) for n in made)
        rows, columns = (int(n) for n in shape)
        tensor = cls(
            codes,
            centroids,
            row_scales,
            np.float32(scale[0]),
            Outliers(places, values),
            VectorProfile(length, first, second),
            (rows, columns),
            bool(transposed),
        )
        tensor.check(layer)
        return tensor

    @classmethod
    def config_entry(cls, tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {"version": VERSION, "layers": sorted(tensors)}


def row_factors(row_scales: np.ndarray, scale: np.float32) -> np.ndarray:
    """What the numbers of each row are multiplied by. returns: (o,) float32"""
    factors: np.ndarray = row_scales.astype(np.float32) * np.float32(scale)
    return factors
