"""Weights as a grid would hold them, with the gradient of the weights themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pare_backends.checkpoint import GridTensor
from pare_backends.checkpoint.forms.grid import HALF_RELATIVE_ERROR
from pare_backends.quantization.rounding import CLIP_FACTORS, round_matrix

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Grid:
    """How one matrix is rounded while it is trained; the ranges follow the weights."""

    bits: int
    group_size: int
    symmetric: bool
    shares: torch.Tensor  # (groups, 1): how much of a group's range its grid spans
    transposed: bool  # the model holds the weight as (in, out)
    kept: torch.Tensor | None  # (out, in): where pruning left weights; None: everywhere

    @property
    def limits(self) -> tuple[int, int]:
        """(smallest, largest) integer."""
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1

    def places(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(integers (groups, width), scales (groups, 1), zero points (groups, 1)), float32, as
        rounding.py rounds. weight: (out, in)"""
        import torch

        low, high = self.limits
        width = weight.shape[1] if self.group_size == -1 else self.group_size
        kept = weight if self.kept is None else weight * self.kept
        groups = kept.reshape(-1, width)
        if self.symmetric:
            scales = stored(groups.abs().amax(1, keepdim=True) * self.shares / high)
            zeros = torch.zeros_like(scales)
        else:
            smallest = groups.amin(1, keepdim=True).clamp(max=0) * self.shares
            largest = groups.amax(1, keepdim=True).clamp(min=0) * self.shares
            scales = stored((largest - smallest) / (high - low))
            zeros = torch.clamp(torch.round(low - smallest / scales), low, high)
        return torch.clamp(torch.round(groups / scales + zeros), low, high), scales, zeros

    def rounded(self, parameter: torch.Tensor) -> torch.Tensor:
        """The parameter on its grid; its gradient is that of the parameter (the straight-through
        estimator, Bengio et al. 2013, arXiv 1308.3432)."""
        import torch

        with torch.no_grad():
            weight = parameter.T if self.transposed else parameter
            ints, scales, zeros = self.places(weight)
            values = ((ints - zeros) * scales).reshape(weight.shape)
            change = (values.T if self.transposed else values) - parameter
        return parameter + change

    def tensor(self, parameter: torch.Tensor) -> GridTensor:
        """What is stored: the very integers that the model was trained with."""
        weight = (parameter.T if self.transposed else parameter).detach()
        rows, columns = weight.shape
        ints, scales, zeros = (part.cpu().numpy() for part in self.places(weight))
        return GridTensor(
            ints.astype(np.int8).reshape(rows, columns),
            scales.reshape(rows, -1),
            None if self.symmetric else zeros.astype(np.int8).reshape(rows, -1),
            self.bits,
            self.group_size,
            transposed=self.transposed,
        )


def stored(scales: torch.Tensor) -> torch.Tensor:
    """Scales as files hold them, 1 where a group is all zeros: `rounding.usable` in torch."""
    import torch

    safe = torch.where(scales == 0, 1.0, scales)
    halves = safe.half().float()
    fits = ((halves - safe).abs() <= HALF_RELATIVE_ERROR * safe.abs()).all()
    return halves if bool(fits) else safe


def grid_of(
    name: str,
    weight: np.ndarray,
    bits: int,
    group_size: int,
    symmetric: bool,
    clip: bool,
    transposed: bool,
    kept: np.ndarray | None,
) -> Grid:
    """A matrix's grid; with `clip` each group spans the share of its range that makes the squared
    error least before anything is trained. weight: (out, in); kept: (out, in) bool"""
    import torch

    shares = np.ones(1, np.float32)
    if clip:
        whole, less = (
            round_matrix(name, weight, bits, group_size, symmetric, clip=one).scales
            for one in (False, True)
        )
        # Files round scales: the share that was tried is the one nearest to their quotient.
        tried = np.abs((less / whole).reshape(-1, 1) - CLIP_FACTORS[None, :]).argmin(axis=1)
        shares = CLIP_FACTORS[tried].astype(np.float32).reshape(-1, 1)
    mask = None if kept is None else torch.from_numpy(kept.astype(np.float32))
    return Grid(bits, group_size, symmetric, torch.from_numpy(shares), transposed, mask)
