"""Ordered: integers on a grid whose groups take columns from everywhere in a row, as GPTQ leaves
them where it rounds the columns that matter most first (`desc_act`, "act order").

The integers lie group by group; beside them stands where each of the model's columns lies.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from pare_backends.checkpoint.forms.form import StoredTensor
from pare_backends.checkpoint.forms.grid import GridTensor
from pare_backends.checkpoint.forms.packing import packed_columns, unpack
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

VERSION = 1
BITS = range(1, 9)
BYTES_A_PLACE = 4
PROFILE_BYTES = 2 * 4
INTS, SCALES, ZEROS = ".weight_ordered_ints", ".weight_ordered_scales", ".weight_ordered_zeros"
PLACES, PROFILE = ".weight_ordered_places", ".weight_ordered_profile"


@dataclass(frozen=True)
class OrderedTensor(StoredTensor):
    """weight[:, c] = (ints − zero_points) · scales of the grid's column places[c].

    Letters: o rows (out_features), i columns (in_features).
    """

    FORM: ClassVar[str] = "ordered"
    PARTS: ClassVar[tuple[str, ...]] = (INTS, SCALES, ZEROS, PLACES, PROFILE)
    OPTIONAL: ClassVar[tuple[str, ...]] = (ZEROS,)
    REPLACEABLE: ClassVar[bool] = False
    STATE: ClassVar[str] = "quantized"
    OWN_LOADER: ClassVar[str | None] = "stored as integers whose columns lie group by group"

    grid: GridTensor  # (o, i), its columns group by group
    places: np.ndarray  # (i,) int32, each of 0 to i − 1 once

    @classmethod
    def of(cls, grid: GridTensor, groups: np.ndarray) -> Self:
        """Integers in the model's order of columns, and the group of each. grid: its scales and
        zero points are those of the groups; raises `CallFailure` where groups differ in size"""
        taken = np.argsort(groups, kind="stable")
        count = grid.scales.shape[1]
        sizes = np.bincount(np.asarray(groups, np.int64), minlength=count)
        if len(sizes) != count or (sizes != len(groups) // count).any():
            raise CallFailure("bad_input", "its groups are of different sizes")
        places = np.empty(len(taken), np.int32)
        places[taken] = np.arange(len(taken), dtype=np.int32)
        ints = np.ascontiguousarray(grid.ints[:, taken])
        whole = GridTensor(ints, grid.scales, grid.zero_points, grid.bits, grid.group_size)
        return cls(whole, places)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.grid.shape

    def weight(self) -> np.ndarray:
        return np.ascontiguousarray(self.grid.dequantize()[:, self.places])

    def parts(self) -> dict[str, np.ndarray]:
        own = self.grid.parts()
        zeros = own.get(".weight_zero_point")
        return {
            INTS: own[".weight_packed"],
            SCALES: own[".weight_scale"],
            PLACES: np.asarray(self.places, np.int32),
            PROFILE: np.array([self.grid.bits, self.grid.group_size], np.int32),
            **({} if zeros is None else {ZEROS: zeros}),
        }

    def formula_bytes(self) -> int:
        """The grid's, less the two dimensions that the profile stands for, and a place a column."""
        places = BYTES_A_PLACE * self.grid.ints.shape[1]
        return self.grid.formula_bytes() - 16 + PROFILE_BYTES + places

    def check(self, name: str) -> None:
        self.grid.check(name)
        columns = self.grid.ints.shape[1]
        if not np.array_equal(np.sort(self.places), np.arange(columns)):
            raise CallFailure(
                "bad_input",
                f"Cannot read {name}: its {len(self.places)} places are not each of its {columns}"
                " columns once",
                hint="The checkpoint is damaged: copy or make it again",
            )

    @classmethod
    def layers(cls, names: Collection[str]) -> list[str]:
        return [name.removesuffix(PLACES) for name in names if name.endswith(PLACES)]

    @classmethod
    def read(cls, stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> Self:
        packed, scales, places, profile = cls.found_parts(stored, layer)
        settings, columns = [int(n) for n in profile.reshape(-1)], len(places)
        if (
            len(settings) != 2
            or settings[0] not in BITS
            or packed.ndim != 2
            or packed.shape[1] != packed_columns(columns, settings[0])
        ):
            raise CallFailure(
                "bad_input",
                f"Cannot read {layer}: its {packed.shape} words are not {columns} columns of"
                f" {settings[:1]} bits",
                hint="The checkpoint is damaged: copy or make it again",
            )
        bits, group_size = settings
        zeros = None
        if f"{layer}{ZEROS}" in stored:
            across = np.ascontiguousarray(stored[f"{layer}{ZEROS}"].T)
            zeros = np.ascontiguousarray(unpack(across, bits, len(packed)).T)
        ints = unpack(packed, bits, columns)
        grid = GridTensor(ints, scales.astype(np.float32), zeros, bits, group_size)
        tensor = cls(grid, places.astype(np.int32))
        tensor.check(layer)
        return tensor

    @classmethod
    def config_entry(cls, tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {"version": VERSION, "layers": sorted(tensors)}
