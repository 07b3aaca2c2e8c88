"""Lattice: each two weights that lie side by side are the number of a point in a plane
(Hyper-Compression, arXiv 2409.00592, as its published code does it for language models).

The points are those of a sheared square of s by s around the mean of the matrix, s² = U, and their
centre; weights outside of it were drawn towards the centre by the factor of their class. A pair
takes ceil(log2((U + 1) · (M + 1))) bits, M being the classes that there may be outside. Entropy
coded, its class, row and column are a plane of bytes each, and what they take hangs on the weights.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pare_backends.checkpoint.forms.bit_codes import pack_codes, packed_bytes, unpack_codes
from pare_backends.checkpoint.forms.entropy import decode_planes, encode_planes
from pare_backends.checkpoint.forms.form import StoredTensor
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

VERSION = 1
PLANE_BYTES, BYTES_A_DIMENSION = 16, 8
BYTES_A_SETTING = 4  # of the profile
PLANES = 3  # of an entropy coded tensor: class, row, column; the row behind the last is the centre
DECODED_PAIRS = 1 << 16  # at a time


class LatticeProfile(NamedTuple):
    """What every pair of a matrix is told apart by."""

    points: int  # U, a square number
    most_classes: int  # M, outside the inner square
    classes: int  # of these, as many as the matrix uses

    @property
    def pair_bits(self) -> int:
        return ((self.points + 1) * (self.most_classes + 1) - 1).bit_length()

    @property
    def fits(self) -> bool:
        """Whether a pair can be read by this pare."""
        square = self.points > 0 and math.isqrt(self.points) ** 2 == self.points
        return square and 0 < self.classes <= self.most_classes and self.pair_bits <= 64


class Plane(NamedTuple):
    """Where the points of a matrix lie; each number as float32 holds it."""

    x: float  # mean of the first of each pair
    y: float  # mean of the second
    side: float  # of the inner square
    reach: float  # from the centre along x or y to the farthest pair, half the side at least

    def edges(self, classes: int) -> np.ndarray:
        """How far each class reaches, the inner square first. returns: (classes + 1,) float64"""
        half = self.side / 2
        return half + np.arange(classes + 1) * ((self.reach - half) / classes)


@dataclass(frozen=True)
class LatticeTensor(StoredTensor):
    """A pair is centre + (its point − centre) · the factor of its class, in double precision,
    rounded to float32. A last weight without a second has the mean beside it."""

    FORM: ClassVar[str] = "lattice"
    PARTS: ClassVar[tuple[str, ...]] = (
        ".weight",
        ".weight_lattice_profile",
        ".weight_lattice_plane",
        ".weight_shape",
    )
    REPLACEABLE: ClassVar[bool] = False
    STATE: ClassVar[str] = "encoded"
    OWN_LOADER: ClassVar[str | None] = "stored as the numbers of points in a plane"

    codes: np.ndarray  # (ceil(pairs · bits a pair / 8),) uint8; entropy coded: of any length
    plane: Plane
    profile: LatticeProfile
    dimensions: tuple[int, ...]
    entropy_coded: bool = False

    @classmethod
    def of(
        cls,
        numbers: np.ndarray,
        plane: Plane,
        profile: LatticeProfile,
        dimensions: tuple[int, ...],
        entropy_coded: bool = False,
    ) -> Self:
        """The pairs in this form. numbers: (pairs,), class · (U + 1) + point, the centre being the
        point 0"""
        if entropy_coded:
            stream = encode_planes(planes_of(numbers, profile))
            return cls(stream, plane, profile, dimensions, True)
        packed = pack_codes(numbers.astype(np.uint64), profile.pair_bits)
        return cls(packed, plane, profile, dimensions)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.dimensions

    @property
    def pairs(self) -> int:
        return -(-self.size // 2)

    def weight(self) -> np.ndarray:
        weights = np.empty((self.pairs, 2), dtype=np.float32)
        done = 0
        for numbers in self.numbers():
            weights[done : done + len(numbers)] = self.decoded(numbers.astype(np.int64))
            done += len(numbers)
        return weights.reshape(-1)[: self.size].reshape(self.dimensions)

    def numbers(self) -> Iterator[np.ndarray]:
        """The pairs' numbers, some at a time."""
        if not self.entropy_coded:
            yield from unpack_codes(self.codes, self.profile.pair_bits, self.pairs)
            return
        try:
            planes = decode_planes(self.codes, PLANES, self.pairs)
        except ValueError as error:
            raise CallFailure(
                "bad_input",
                f"Cannot decode weights stored as a lattice: {error}",
                hint="The checkpoint is damaged: copy or make it again",
            ) from error
        for start in range(0, self.pairs, DECODED_PAIRS):
            yield numbers_of_planes(
                [plane[start : start + DECODED_PAIRS] for plane in planes], self.profile
            )

    def decoded(self, numbers: np.ndarray) -> np.ndarray:
        """The pairs of these numbers. numbers: (n,) int64; returns: (n, 2) float32"""
        outside, point = np.divmod(numbers, self.profile.points + 1)
        if outside.size and int(outside.max()) > self.profile.classes:
            raise CallFailure(
                "bad_input",
                f"Cannot decode weights stored as a lattice: a pair is of class {outside.max()},"
                f" of {self.profile.classes}",
                hint="The checkpoint is damaged: copy or make it again",
            )
        steps, place = math.isqrt(self.profile.points), point - 1
        side, half = self.plane.side, self.plane.side / 2
        across = np.where(point == 0, 0.0, place / steps**2 * side - half)
        along = np.where(point == 0, 0.0, place % steps / steps * side - half)
        factors = (self.plane.edges(self.profile.classes) / half)[outside]
        pairs = np.stack([self.plane.x + across * factors, self.plane.y + along * factors], axis=1)
        return pairs.astype(np.float32)

    def parts(self) -> dict[str, np.ndarray]:
        return {
            ".weight": self.codes,
            # A fourth number where it is entropy coded: what was written before has three.
            ".weight_lattice_profile": np.array(
                [*self.profile, *([1] if self.entropy_coded else [])], dtype=np.int32
            ),
            ".weight_lattice_plane": np.array(self.plane, dtype=np.float32),
            ".weight_shape": np.array(self.dimensions, dtype=np.int64),
        }

    def formula_bytes(self) -> int:
        """The bits of the pairs in whole bytes, the points, the plane, the dimensions. What entropy
        coded pairs take hangs on the weights: the bytes that there are."""
        pairs = packed_bytes(self.pairs, self.profile.pair_bits)
        settings = BYTES_A_SETTING * (len(self.profile) + self.entropy_coded)
        taken = self.codes.size if self.entropy_coded else pairs
        return taken + settings + PLANE_BYTES + BYTES_A_DIMENSION * len(self.dimensions)

    def check(self, name: str) -> None:
        fits = self.profile.fits
        expected = packed_bytes(self.pairs, self.profile.pair_bits) if fits else -1
        if not fits or (not self.entropy_coded and self.codes.shape != (expected,)):
            raise CallFailure(
                "bad_input",
                f"Cannot read {name}: {self.codes.size} bytes of pairs of weights, with"
                f" {self.profile.points} points and {self.profile.most_classes} classes, are not"
                f" the {self.size} weights of {' by '.join(str(n) for n in self.dimensions)}",
                hint="The checkpoint is damaged: copy or make it again",
            )
        if not np.isfinite(self.plane).all() or self.plane.side <= 0:
            raise CallFailure("not_a_number", f"Cannot store {name}: its plane is not finite")

    @classmethod
    def layers(cls, names: Collection[str]) -> list[str]:
        ending = ".weight_lattice_plane"
        return [name.removesuffix(ending) for name in names if name.endswith(ending)]

    @classmethod
    def read(cls, stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> Self:
        codes, profile, plane, shape = cls.found_parts(stored, layer)
        settings = [int(n) for n in profile.reshape(-1)]
        if len(settings) not in (3, 4) or settings[3:] not in ([], [1]) or plane.shape != (4,):
            raise CallFailure("bad_input", f"Cannot read {layer}: its lattice is not a lattice")
        own = LatticeProfile(*settings[:3])
        dimensions = tuple(int(n) for n in shape)
        place = Plane(*(float(n) for n in plane))
        tensor = cls(codes, place, own, dimensions, len(settings) == 4)
        tensor.check(layer)
        return tensor

    @classmethod
    def config_entry(cls, tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {"version": VERSION, "layers": sorted(tensors)}


def planes_of(numbers: np.ndarray, profile: LatticeProfile) -> list[np.ndarray]:
    """(class, row, column) of each pair, a byte each. numbers: (pairs,), of at most 6,400 points"""
    steps = math.isqrt(profile.points)
    outside, point = np.divmod(numbers.astype(np.int64), profile.points + 1)
    row, column = np.divmod(point - 1, steps)
    centre = point == 0
    planes = (outside, np.where(centre, steps, row), np.where(centre, 0, column))
    return [plane.astype(np.uint8) for plane in planes]


def numbers_of_planes(planes: Sequence[np.ndarray], profile: LatticeProfile) -> np.ndarray:
    """What `planes_of` was given. returns: (n,) int64"""
    steps = math.isqrt(profile.points)
    outside, row, column = (plane.astype(np.int64) for plane in planes)
    if (row > steps).any() or (column >= steps).any():
        raise CallFailure(
            "bad_input",
            "Cannot decode weights stored as a lattice: a pair lies outside of the square",
            hint="The checkpoint is damaged: copy or make it again",
        )
    point = np.where(row == steps, 0, 1 + row * steps + column)
    return outside * (profile.points + 1) + point
