"""Codecs at the rates that a composed model's layers may have, and a matrix encoded at one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pare_backends.checkpoint import SeedTensor, StoredTensor
from pare_backends.checkpoint.forms.seeds import SeedProfile
from pare_backends.codec import seedlm, vptq
from pare_backends.codec.lattice_points import fitted
from pare_backends.codec.seed_search import SeedTable, seed_table
from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Matrix:
    """A layer as it is encoded."""

    layer: str
    weights: np.ndarray  # (out, in) float32
    inputs: Sequence[torch.Tensor]  # what it is given, (…, in); none: an expert that saw no token
    transposed: bool  # the model's own weight is (in, out)
    seed: int


class Setting(Protocol):
    """A codec with its knobs. name: of small letters, digits and "_"; widths: must divide a row"""

    @property
    def name(self) -> str: ...
    @property
    def widths(self) -> tuple[int, ...]: ...

    def encode(self, matrix: Matrix) -> StoredTensor | None:
        """The matrix as the model's own layer; None where its inputs are lacking."""
        ...


@dataclass(frozen=True)
class Seeds:
    """seedlm."""

    profile: SeedProfile

    @property
    def name(self) -> str:
        return "seedlm_" + "_".join(str(one) for one in self.profile)

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.profile.block_weights,)

    def encode(self, matrix: Matrix) -> StoredTensor:
        parts, _ = seedlm.encode(matrix.layer, matrix.weights, table_of(self.profile))
        rows, columns = matrix.weights.shape
        return SeedTensor.of(
            parts["seeds"],
            parts["exponents"],
            parts["coefficients"],
            float(parts["scale"][0]),
            self.profile,
            (rows, columns),
            matrix.transposed,
        )


@cache
def table_of(profile: SeedProfile) -> SeedTable:
    """All seeds of a register; for 12 bits some megabytes."""
    return seed_table(profile)


@dataclass(frozen=True)
class Vectors:
    """vptq, by the inputs of the model as it was and without refits."""

    vector_length: int
    centroid_bits: int

    @property
    def name(self) -> str:
        return f"vptq_{self.vector_length}_{self.centroid_bits}"

    @property
    def widths(self) -> tuple[int, ...]:
        return ()

    def encode(self, matrix: Matrix) -> StoredTensor | None:
        import torch

        moments: Any = None
        tokens = 0
        for given in matrix.inputs:
            moments, tokens = vptq.second_moments(None, given, moments, tokens)
        if tokens == 0:
            return None
        own = {"vector_length": self.vector_length, "centroid_bits": self.centroid_bits}
        params = build_params(vptq.Params, {**own, "refits": 0})
        rows, columns = matrix.weights.shape
        weights = torch.from_numpy(matrix.weights)
        parts, _ = vptq.encode(matrix.layer, weights, moments, params, matrix.seed)
        profile = vptq.profile_of(params, rows, columns)
        return vptq.tensor_of(parts, profile, (rows, columns), matrix.transposed)


@dataclass(frozen=True)
class Points:
    """hyper_compression. Entropy coded, what it takes hangs on the weights."""

    lattice_points: int
    outer_classes: int
    entropy_coded: bool = False

    @property
    def name(self) -> str:
        if self.entropy_coded:
            return f"hyper_compression_{self.lattice_points}_coded"
        return f"hyper_compression_{self.lattice_points}_{self.outer_classes}"

    @property
    def widths(self) -> tuple[int, ...]:
        return ()

    def encode(self, matrix: Matrix) -> StoredTensor:
        if not np.isfinite(matrix.weights).all():
            raise CallFailure(
                "not_a_number", f"Cannot encode {matrix.layer}: its weights are not finite"
            )
        own = matrix.weights.T if matrix.transposed else matrix.weights
        of = (self.lattice_points, self.outer_classes, self.entropy_coded)
        return fitted(np.ascontiguousarray(own), *of)


LADDERS: dict[str, tuple[Setting, ...]] = {
    "seedlm": tuple(Seeds(SeedProfile(12, *own)) for own in ((16, 4), (12, 4), (8, 3), (8, 4))),
    "vptq": tuple(Vectors(*own) for own in ((4, 8), (3, 9), (2, 8))),
    "hyper_compression": (
        *(Points(*own) for own in ((100, 1), (400, 3), (1600, 3))),
        *(Points(points, 3, entropy_coded=True) for points in (100, 400, 1600, 6400)),
    ),
}
"""Settings of each codec, the smallest first of those with fixed bits and of the others. The same
stand in plugins/codec/_ladders.ts."""


def settings_of(codecs: Collection[str], columns: Collection[int]) -> list[Setting]:
    """The settings of these codecs whose blocks divide every row. columns: weights of the rows"""
    return [
        one
        for codec in codecs
        for one in LADDERS[codec]
        if all(row % width == 0 for row in columns for width in one.widths)
    ]
