"""GPTQ's files, as gptqmodel and vLLM read them: words along the inputs, a scale and a zero point
for each group, `g_idx` in order (desc_act false).

Source: AutoGPTQ's and gptqmodel's QuantLinear. Their first version stores a zero point less one, so
that a zero point of 0 has no code: such a checkpoint is written as their second version, `gptq_v2`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pare_backends.checkpoint import GridTensor
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.conversion.files_format import (
    Decoded,
    FilesFormat,
    Grid,
    Opened,
    Source,
    common_grid,
    grid_of,
    lies_on,
    part,
    usual_grid,
    weights_refusal,
    width_refusal,
)
from pare_backends.conversion.opening import open_by_auto_round
from pare_backends.conversion.words import across, down, undo_across, undo_down
from pare_backends.failures import CallFailure

BITS = (2, 3, 4, 8)
WORD = 32
"""Values of each side that fill whole words at any of these widths."""
ENDINGS = (".qweight", ".qzeros", ".scales", ".g_idx")
VERSION_1, VERSION_2 = "gptq", "gptq_v2"


class GptqFiles(FilesFormat):
    """quant_method gptq."""

    NAME: ClassVar[str] = "gptq"
    OPENED_BY: ClassVar[str] = "transformers optimum gptqmodel"
    HOLDS: ClassVar[str] = "integers of 2, 3, 4 or 8 bits of linear layers"

    def refusal(self, source: Source) -> str | None:
        return weights_refusal(source, self.HOLDS) or next(
            (
                why
                for layer, tensor in source.grids.items()
                if (why := self.layer_refusal(layer, tensor)) is not None
            ),
            None,
        )

    def layer_refusal(self, layer: str, tensor: GridTensor) -> str | None:
        """Why one packed layer cannot be held."""
        if tensor.bits not in BITS:
            return f"{layer} has integers of {tensor.bits} bits, and it holds {self.HOLDS}"
        return width_refusal(layer, tensor, WORD, WORD)

    def parts(self, tensor: GridTensor, config: Mapping[str, Any]) -> dict[str, np.ndarray]:
        rows, columns = tensor.ints.shape
        groups = tensor.scales.shape[1]
        zeros = tensor.zero_points
        if zeros is None:
            zeros = np.zeros((rows, groups), np.int8)
        less = np.int8(stored_less(config))
        return {
            ".qweight": down(tensor.ints, tensor.bits),
            # Around zero, so the lowest one wraps where `version` let no such layer through.
            ".qzeros": across(zeros - less, tensor.bits),
            ".scales": np.ascontiguousarray(tensor.scales.T).astype(np.float16),
            ".g_idx": (np.arange(columns) // (columns // groups)).astype(np.int32),
        }

    def formula_bytes(self, tensor: GridTensor) -> int:
        rows, columns = tensor.ints.shape
        groups = tensor.scales.shape[1]
        return (rows * columns + rows * groups) * tensor.bits // 8 + 2 * rows * groups + 4 * columns

    def configuration(self, source: Source) -> dict[str, Any]:
        grids = source.grids
        grid = common_grid(grids) or usual_grid(grids)
        rules: dict[str, Any] = {
            f"+:{exactly(source.module(layer))}": words_of(grid_of(tensor))
            for layer, tensor in grids.items()
            if not lies_on(grid, tensor)
        }
        rules |= {f"-:{exactly(source.module(layer))}": {} for layer in source.plain}
        return {
            "quant_method": "gptq",
            **words_of(grid),
            "desc_act": False,
            "lm_head": False,
            "checkpoint_format": version(source),
            "pack_dtype": "int32",
            **({"dynamic": rules} if rules else {}),
        }

    def claimed(self, config: Mapping[str, Any], module: str) -> Grid:
        words = dict(config)
        for rule, changed in (config.get("dynamic") or {}).items():
            if rule.startswith("+:") and re.match(rule[2:], module):
                words |= changed
        return Grid(int(words["bits"]), int(words["group_size"]), bool(words["sym"]))

    def found(
        self, stored: StoredTensors, layer: str, shape: tuple[int, int], config: Mapping[str, Any]
    ) -> Grid:
        rows, columns = shape
        words, groups = (
            part(stored, layer, ".qweight").shape[0],
            part(stored, layer, ".scales").shape[0],
        )
        bits = words * WORD // columns
        zeros = undo_across(part(stored, layer, ".qzeros"), bits, rows) + stored_less(config)
        middle = 1 << (bits - 1)
        return Grid(bits, -1 if groups == 1 else columns // groups, bool((zeros == middle).all()))

    def decoded(
        self, stored: StoredTensors, layer: str, grid: Grid, config: Mapping[str, Any]
    ) -> Decoded:
        columns = len(part(stored, layer, ".qweight")) * WORD // grid.bits
        self.check_order(stored, layer, columns, len(part(stored, layer, ".scales")))
        return self.unpacked(stored, layer, grid, config)

    def unpacked(
        self, stored: StoredTensors, layer: str, grid: Grid, config: Mapping[str, Any]
    ) -> Decoded:
        scales = part(stored, layer, ".scales").astype(np.float32)
        words = part(stored, layer, ".qweight")
        columns = len(words) * WORD // grid.bits
        zeros = undo_across(part(stored, layer, ".qzeros"), grid.bits, scales.shape[1])
        ints = undo_down(words, grid.bits, columns)
        return Decoded(ints, zeros + stored_less(config), scales.T)

    def check_order(self, stored: StoredTensors, layer: str, columns: int, groups: int) -> None:
        """Raises where the columns do not stand in the order of their groups."""
        order = part(stored, layer, ".g_idx")
        if not np.array_equal(order, np.arange(columns) // (columns // groups)):
            raise CallFailure("bad_input", "its g_idx is not in the order of its groups")

    def further_files(self, source: Source) -> dict[str, Any]:
        return {"quantize_config.json": self.configuration(source)}

    def open(self, directory: Path, config: Mapping[str, Any]) -> Opened | None:
        # auto-round's kernel for the CPU takes GPTQ's first zero points where they are symmetric.
        grids = [config, *(config.get("dynamic") or {}).values()]
        if not all(words.get("sym", True) for words in grids):
            return None
        return open_by_auto_round(directory)


def words_of(grid: Grid) -> dict[str, Any]:
    """A grid in the words of GPTQ's configuration."""
    return {"bits": grid.bits, "group_size": grid.group_size, "sym": grid.symmetric}


def exactly(module: str) -> str:
    """A pattern that names one module."""
    return f"^{re.escape(module)}$"


def stored_less(config: Mapping[str, Any]) -> int:
    """What the files' zero points are less than the real ones."""
    return int(config.get("checkpoint_format", VERSION_1) == VERSION_1)


def version(source: Source) -> str:
    """The first version wherever it can say every zero point."""
    lowest = [
        int(tensor.zero_points.min()) + (1 << (tensor.bits - 1))
        for tensor in source.grids.values()
        if tensor.zero_points is not None
    ]
    return VERSION_2 if min(lowest, default=1) == 0 else VERSION_1
