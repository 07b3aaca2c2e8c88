"""Formats that a layer may be rounded to, by names such as 3-bit-g64."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pare_backends.checkpoint import GridTensor
from pare_backends.failures import CallFailure
from pare_backends.quantization.rounding import round_matrix

NAME = re.compile(
    r"(?P<bits>[2348])-bit(?:-g(?P<group>[1-9]\d{0,4}))?(?P<zeros>-asym)?"
    r"|(?P<inputs>int8)(?:-g(?P<features>[1-9]\d{0,4}))?"
)
CLIPPED = 7
"""Below so many bits a group's range is shrunk to what makes its error least, as `clip` of rtn."""


@dataclass(frozen=True)
class Format:
    """A grid for the weights of a layer and, of int8, one for its inputs."""

    bits: int
    group_size: int  # weights that share a scale; -1 = the whole row
    symmetric: bool = True
    activation_group_size: int | None = None  # features that share a scale; None: inputs are floats

    @property
    def name(self) -> str:
        """As `format_of` reads it."""
        inputs = self.activation_group_size
        if inputs is not None:
            return "int8" if inputs == -1 else f"int8-g{inputs}"
        group = "" if self.group_size == -1 else f"-g{self.group_size}"
        return f"{self.bits}-bit{group}{'' if self.symmetric else '-asym'}"

    @property
    def widths(self) -> tuple[int, ...]:
        """Group sizes that must divide a row."""
        both = (self.group_size, self.activation_group_size)
        return tuple(width for width in both if width is not None and width > 0)

    def round(self, layer: str, weights: np.ndarray, threads: int = 1) -> GridTensor:
        """The matrix rounded to nearest. weights: (out, in) float32; `layer` is for failures"""
        return round_matrix(
            layer,
            weights,
            self.bits,
            self.group_size,
            self.symmetric,
            clip=self.bits < CLIPPED,
            activation_bits=None if self.activation_group_size is None else 8,
            activation_group_size=self.activation_group_size or -1,
            threads=threads,
        )


def format_of(name: str) -> Format:
    """The format of a name: 4-bit-g64, 3-bit-g32-asym, 8-bit (a scale a row), int8-g64 (8 bits a
    row, and inputs rounded by groups of 64 features).

    raises: CallFailure "bad_input" for any other
    """
    found = NAME.fullmatch(name)
    if found is None:
        raise CallFailure(
            "bad_input",
            f"Cannot read the format {name!r}: it is BITS-bit, BITS-bit-gGROUP or"
            " BITS-bit-gGROUP-asym of 2, 3, 4 or 8 bits, or int8 or int8-gGROUP",
            hint="Such as 4-bit-g64",
        )
    if found["inputs"] is not None:
        return Format(8, -1, True, int(found["features"] or -1))
    return Format(int(found["bits"]), int(found["group"] or -1), found["zeros"] is None)


def formats_of(names: Sequence[str]) -> list[Format]:
    """The formats of several names, each once, in their order."""
    if not names:
        raise CallFailure("bad_input", "Cannot score layers: no format is named")
    return list(dict.fromkeys(format_of(name) for name in names))
