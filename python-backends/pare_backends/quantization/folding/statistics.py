"""What a layer is given by calibration text, in the figures that scales are chosen by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.pruning.block_pass import Inputs

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class InputStatistics:
    """Of n inputs of a layer over all tokens."""

    products: torch.Tensor  # (n, n): the sum of x xᵀ over tokens
    mean: torch.Tensor  # (n,): the mean of |x|
    largest: torch.Tensor  # (n,): the largest |x|

    def error(self, difference: np.ndarray) -> float:
        """Squared error of the outputs where weights differ so. difference: (outputs, n) float32"""
        import torch

        change = torch.from_numpy(difference)
        return float(((change @ self.products) * change).sum(dtype=torch.float64))


def gather(module: Any, values: torch.Tensor, sums: Any, tokens: int) -> tuple[Any, int]:
    """An `Accumulate` of block_pass: sums are (n + 2, n), products above sum and largest."""
    import torch

    rows = values.reshape(-1, values.shape[-1]).float()
    sizes = rows.abs()
    if sums is None:
        sums = rows.new_zeros((rows.shape[1] + 2, rows.shape[1]))
    sums[:-2] += rows.T @ rows
    sums[-2] += sizes.sum(0)
    if len(sizes):
        sums[-1] = torch.maximum(sums[-1], sizes.amax(0))
    return sums, tokens + len(rows)


def read_statistics(inputs: Inputs) -> InputStatistics:
    """The statistics that `gather` has summed."""
    sums = inputs.sums.cpu()
    return InputStatistics(sums[:-2], sums[-2] / max(inputs.windows, 1), sums[-1])
