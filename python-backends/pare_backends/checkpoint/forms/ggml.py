"""Blocks of ggml: the bytes of a tensor as llama.cpp's quantizer made them and a GGUF file holds
them. A row is whole blocks of 32 or 256 weights, so that rows may change places.

gguf-py multiplies them out, whose arithmetic is the library's own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pare_backends.checkpoint.forms.form import StoredTensor
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

VERSION = 1
PROFILE_BYTES, SHAPE_BYTES = 8, 16


class BlockKind(NamedTuple):
    """A type of ggml that holds integers with scales."""

    number: int  # ggml's own, which files hold
    weights: int  # of a block
    octets: int


BLOCK_KINDS = {
    "Q4_0": BlockKind(2, 32, 18),
    "Q4_1": BlockKind(3, 32, 20),
    "Q5_0": BlockKind(6, 32, 22),
    "Q5_1": BlockKind(7, 32, 24),
    "Q8_0": BlockKind(8, 32, 34),
    "Q2_K": BlockKind(10, 256, 84),
    "Q3_K": BlockKind(11, 256, 110),
    "Q4_K": BlockKind(12, 256, 144),
    "Q5_K": BlockKind(13, 256, 176),
    "Q6_K": BlockKind(14, 256, 210),
    "IQ2_XXS": BlockKind(16, 256, 66),
    "IQ2_XS": BlockKind(17, 256, 74),
    "IQ3_XXS": BlockKind(18, 256, 98),
    "IQ1_S": BlockKind(19, 256, 50),
    "IQ4_NL": BlockKind(20, 32, 18),
    "IQ3_S": BlockKind(21, 256, 110),
    "IQ2_S": BlockKind(22, 256, 82),
    "IQ4_XS": BlockKind(23, 256, 136),
    "IQ1_M": BlockKind(29, 256, 56),
    "TQ1_0": BlockKind(34, 256, 54),
    "TQ2_0": BlockKind(35, 256, 66),
    "MXFP4": BlockKind(39, 32, 17),
}


@dataclass(frozen=True)
class GgmlTensor(StoredTensor):
    """The rows of (out, in), in the checkpoint's order, which of some layers is not the file's; of
    experts that lie in one tensor, those of each behind those of the one before."""

    FORM: ClassVar[str] = "ggml"
    PARTS: ClassVar[tuple[str, ...]] = (".weight", ".weight_ggml_kind", ".weight_shape")
    REPLACEABLE: ClassVar[bool] = False
    STATE: ClassVar[str] = "quantized"
    OWN_LOADER: ClassVar[str | None] = "stored as blocks of llama.cpp"

    blocks: np.ndarray  # (o, bytes of a row) uint8
    kind: str  # of BLOCK_KINDS
    columns: int
    transposed: bool = False  # the model's own weight is (i, o), as that of a Conv1D
    experts: int = 0  # the model's own weight is (experts, o / experts, i); 0: it is a matrix

    @property
    def matrix_shape(self) -> tuple[int, int]:
        return (len(self.blocks), self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        if self.experts:
            return (self.experts, len(self.blocks) // self.experts, self.columns)
        return self.matrix_shape[::-1] if self.transposed else self.matrix_shape

    def weight(self) -> np.ndarray:
        """`dequantize` as the model holds it: (i, o) where transposed, a stack of experts."""
        return self.dequantize().T if self.transposed else self.dequantize().reshape(self.shape)

    def dequantize(self) -> np.ndarray:
        """The weights that the blocks stand for. returns: (o, i) float32"""
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize

        with np.errstate(invalid="ignore"):  # of damaged scales, which `check` finds
            numbers = dequantize(self.blocks, GGMLQuantizationType[self.kind])
        return np.asarray(numbers, dtype=np.float32).reshape(self.matrix_shape)

    def parts(self) -> dict[str, np.ndarray]:
        # A third number says that it is transposed: absent of a matrix that is not.
        profile = [VERSION, BLOCK_KINDS[self.kind].number, *((1,) if self.transposed else ())]
        return {
            ".weight": self.blocks,
            ".weight_ggml_kind": np.array(profile, np.int32),
            ".weight_shape": np.array(
                self.shape if self.experts else self.matrix_shape, dtype=np.int64
            ),
        }

    def formula_bytes(self) -> int:
        """The blocks, their kind, the shape."""
        weights, octets = BLOCK_KINDS[self.kind][1:]
        turned = 4 if self.transposed else 0
        shape = SHAPE_BYTES + (8 if self.experts else 0)
        return self.size // weights * octets + PROFILE_BYTES + turned + shape

    def check(self, name: str) -> None:
        weights, octets = BLOCK_KINDS[self.kind][1:]
        whole = self.columns > 0 and self.columns % weights == 0
        row = self.columns // weights * octets
        typed = self.blocks.dtype == np.uint8 and self.blocks.ndim == 2
        if not whole or not typed or self.blocks.shape[1] != row:
            raise CallFailure(
                "bad_input",
                f"Cannot read {name}: {self.blocks.size} bytes of {self.kind} are not rows of"
                f" {self.columns} weights by blocks of {weights}",
                hint="The checkpoint is damaged: copy or make it again",
            )
        if not np.isfinite(self.weight()).all():
            raise CallFailure("not_a_number", f"Cannot store {name}: a scale of it is not finite")

    @classmethod
    def layers(cls, names: Collection[str]) -> list[str]:
        ending = ".weight_ggml_kind"
        return [name.removesuffix(ending) for name in names if name.endswith(ending)]

    @classmethod
    def read(cls, stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> Self:
        blocks, profile, shape = cls.found_parts(stored, layer)
        kinds = {kind.number: name for name, kind in BLOCK_KINDS.items()}
        known = profile.shape in ((2,), (3,)) and profile[0] == VERSION
        known = known and shape.shape in ((2,), (3,)) and int(shape.min()) > 0
        if not known or int(profile[1]) not in kinds:
            raise CallFailure(
                "bad_input",
                f"Cannot read {layer}: this pare knows no such blocks",
                hint="Read it with the pare that wrote it, or a later one",
            )
        turned = len(profile) == 3 and bool(profile[2])
        *outer, columns = (int(one) for one in shape)
        experts = outer[0] if len(outer) == 2 else 0
        tensor = cls(blocks, kinds[int(profile[1])], columns, turned, experts)
        if len(blocks) != math.prod(outer):
            raise CallFailure(
                "bad_input",
                f"Cannot read {layer}: it has {len(blocks)} rows of {math.prod(outer)}",
                hint="The checkpoint is damaged: copy or make it again",
            )
        tensor.check(layer)
        return tensor

    @classmethod
    def config_entry(cls, tensors: Mapping[str, Any]) -> dict[str, Any]:
        kinds = {layer: held.kind for layer, held in sorted(tensors.items())}
        return {"version": VERSION, "layers": sorted(tensors), "kinds": kinds}
