"""AutoAWQ's files (version gemm), as transformers and vLLM read them: 4-bit integers, eight outputs
a word in an order of their own, and always a zero point for each group.

Source: AutoAWQ's WQLinear_GEMM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pare_backends.checkpoint import GridTensor
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.conversion.files_format import (
    Decoded,
    FilesFormat,
    Grid,
    Source,
    common_grid,
    part,
    weights_refusal,
    width_refusal,
)
from pare_backends.conversion.words import AWQ_ORDER, interleaved, undo_interleaved

BITS = 4
WORD = len(AWQ_ORDER)
HOLDS = "integers of 4 bits of linear layers, all in the same groups"


class AwqFiles(FilesFormat):
    """quant_method awq."""

    NAME: ClassVar[str] = "awq"
    OPENED_BY: ClassVar[str] = "transformers gptqmodel"

    def refusal(self, source: Source) -> str | None:
        why = weights_refusal(source, HOLDS)
        if why is not None:
            return why
        for layer, tensor in source.grids.items():
            if tensor.bits != BITS:
                return f"{layer} has integers of {tensor.bits} bits, and it holds {HOLDS}"
            if tensor.transposed:
                return f"{layer} is a Conv1D, and it holds layers that are Linear alone"
            if (why := width_refusal(layer, tensor, WORD, WORD)) is not None:
                return why
        if common_grid(source.grids) is None:
            first, other = mixed_layers(source.grids)
            return f"{first} and {other} are rounded in other groups, and it holds {HOLDS}"
        return None

    def parts(self, tensor: GridTensor, config: Mapping[str, Any]) -> dict[str, np.ndarray]:
        zeros = tensor.zero_points
        if zeros is None:
            zeros = np.zeros(tensor.scales.shape, np.int8)
        return {
            ".qweight": interleaved(tensor.ints),
            ".qzeros": interleaved(zeros),
            ".scales": np.ascontiguousarray(tensor.scales.T).astype(np.float16),
        }

    def formula_bytes(self, tensor: GridTensor) -> int:
        rows, columns = tensor.ints.shape
        groups = tensor.scales.shape[1]
        return (rows * columns + rows * groups) * BITS // 8 + 2 * rows * groups

    def configuration(self, source: Source) -> dict[str, Any]:
        grid = common_grid(source.grids)
        assert grid is not None  # `refusal` lets no other through
        plain = [source.module(layer) for layer in source.plain]
        return {
            "quant_method": "awq",
            "bits": BITS,
            "group_size": grid.group_size,
            "zero_point": True,
            "version": "gemm",
            "modules_to_not_convert": plain or None,
        }

    def claimed(self, config: Mapping[str, Any], module: str) -> Grid:
        return Grid(int(config["bits"]), int(config["group_size"]), not config["zero_point"])

    def found(
        self, stored: StoredTensors, layer: str, shape: tuple[int, int], config: Mapping[str, Any]
    ) -> Grid:
        rows, columns = shape
        bits = part(stored, layer, ".qweight").shape[1] * 32 // rows
        groups = part(stored, layer, ".scales").shape[0]
        symmetric = f"{layer}.qzeros" not in stored
        return Grid(bits, -1 if groups == 1 else columns // groups, symmetric)

    def decoded(
        self, stored: StoredTensors, layer: str, grid: Grid, config: Mapping[str, Any]
    ) -> Decoded:
        scales = part(stored, layer, ".scales").astype(np.float32)
        rows = scales.shape[1]
        ints = undo_interleaved(part(stored, layer, ".qweight"), rows)
        return Decoded(ints, undo_interleaved(part(stored, layer, ".qzeros"), rows), scales.T)


def mixed_layers(grids: Mapping[str, GridTensor]) -> tuple[str, str]:
    """Two layers that lie on other grids."""
    names = list(grids)
    other = next(
        name for name in names if common_grid({n: grids[n] for n in (names[0], name)}) is None
    )
    return names[0], other
