"""AutoRound's files: GPTQ's words, each layer in bits and groups of its own (`extra_config`).

Symmetric layers have GPTQ's first zero points (`auto_round:auto_gptq`), as AutoRound writes them;
with others the whole checkpoint has plain ones (`auto_round`). Source: auto-round's QuantLinear.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pare_backends.checkpoint import GridTensor
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.conversion.files_format import (
    Decoded,
    Grid,
    Opened,
    Source,
    common_grid,
    grid_of,
    lies_on,
    usual_grid,
)
from pare_backends.conversion.gptq import VERSION_1, VERSION_2, GptqFiles, words_of
from pare_backends.conversion.opening import open_by_auto_round

LESS_ONE, PLAIN = "auto_round:auto_gptq", "auto_round"
FLOATS = {"bits": 16, "data_type": "float"}


class AutoRoundFiles(GptqFiles):
    """quant_method auto-round."""

    NAME: ClassVar[str] = "auto-round"
    OPENED_BY: ClassVar[str] = "transformers auto-round"

    def parts(self, tensor: GridTensor, config: Mapping[str, Any]) -> dict[str, np.ndarray]:
        parts = super().parts(tensor, as_gptq(config))
        return {ending: values for ending, values in parts.items() if ending != ".g_idx"}

    def formula_bytes(self, tensor: GridTensor) -> int:
        return super().formula_bytes(tensor) - 4 * tensor.ints.shape[1]

    def configuration(self, source: Source) -> dict[str, Any]:
        grids = source.grids
        grid = common_grid(grids) or usual_grid(grids)
        others: dict[str, Any] = {
            source.module(layer): {**words_of(grid_of(tensor)), "data_type": "int"}
            for layer, tensor in grids.items()
            if not lies_on(grid, tensor)
        }
        others |= {source.module(layer): FLOATS for layer in source.plain}
        symmetric = all(tensor.symmetric for tensor in grids.values())
        return {
            "quant_method": "auto-round",
            "packing_format": LESS_ONE if symmetric else PLAIN,
            "data_type": "int",
            **words_of(grid),
            **({"extra_config": others} if others else {}),
        }

    def claimed(self, config: Mapping[str, Any], module: str) -> Grid:
        words = {**config, **(config.get("extra_config") or {}).get(module, {})}
        return Grid(int(words["bits"]), int(words["group_size"]), bool(words["sym"]))

    def found(
        self, stored: StoredTensors, layer: str, shape: tuple[int, int], config: Mapping[str, Any]
    ) -> Grid:
        return super().found(stored, layer, shape, as_gptq(config))

    def decoded(
        self, stored: StoredTensors, layer: str, grid: Grid, config: Mapping[str, Any]
    ) -> Decoded:
        return super().decoded(stored, layer, grid, as_gptq(config))

    def unpacked(
        self, stored: StoredTensors, layer: str, grid: Grid, config: Mapping[str, Any]
    ) -> Decoded:
        return super().unpacked(stored, layer, grid, as_gptq(config))

    def check_order(self, stored: StoredTensors, layer: str, columns: int, groups: int) -> None:
        """The files tell no order."""

    def open(self, directory: Path, config: Mapping[str, Any]) -> Opened | None:
        return open_by_auto_round(directory)

    def further_files(self, source: Source) -> dict[str, Any]:
        return {}


def as_gptq(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with its zero points told in GPTQ's words."""
    less = config.get("packing_format") == LESS_ONE
    return {**config, "checkpoint_format": VERSION_1 if less else VERSION_2}
