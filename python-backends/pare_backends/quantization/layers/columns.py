"""GPTQ's column loop over many formats and layers at once (arXiv 2210.17323, algorithm 1).

Rows of a matrix do not depend on one another: given the second moments of their inputs, each is
rounded by itself. So the rows of all layers that share an input, in every format, are stacked and
go through one loop over the columns, each with its own scale, zero point and range. The arithmetic
is llm-compressor's: its search for the scales, its order of columns, its factor of the moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import GridTensor
from pare_backends.checkpoint.forms.grid import stored_scales
from pare_backends.failures import CallFailure
from pare_backends.quantization.mixing.formats import CLIPPED, Format

if TYPE_CHECKING:
    import torch

BLOCK = 64
"""Columns after which the errors of a block reach all later columns, by one product."""
STACKED = 16384
"""Rows that go through the loop together at most: a block of them is 4 MB."""
UNIT = 1024
"""Rows of a layer that are one unit of the loop."""
VECTOR = 16
"""Numbers in the widest vector of a processor: a unit is filled to whole ones."""
SHRINKS = 20
"""Ranges that are tried, each a hundredth smaller."""
SEARCHED = 1 << 15
"""Weights whose scales are searched at a time: they stay in a core's cache."""


@dataclass(frozen=True)
class Moments:
    """X X^T of a layer's inputs as the loop needs it. i: the row's length."""

    order: torch.Tensor  # (i,) int64: columns as they are gone through
    factor: torch.Tensor  # (i, i) float32: upper factor of the inverse, in that order
    dead: torch.Tensor  # (i,) bool: columns that are never fed, in the model's order


@dataclass(frozen=True)
class Grids:
    """The grids of a matrix in one format. o: rows, g: groups a row."""

    format: Format
    scales: torch.Tensor  # (o, g) float32
    zeros: torch.Tensor  # (o, g) float32, whole numbers in the range of the integers


def moments_of(
    hessian: torch.Tensor, dampening: float, layer: str, ordered: bool = True
) -> Moments:
    """What all formats of all layers with this input share.

    hessian: (i, i) float32, as it is; ordered: columns of the largest inputs first
    raises: CallFailure "not_a_number" where the moments have no inverse
    """
    import torch

    diagonal = hessian.diagonal()
    order = diagonal.argsort(descending=True) if ordered else torch.arange(len(diagonal))
    dead = diagonal == 0
    work = hessian[order][:, order].contiguous()
    work.diagonal()[dead[order]] = 1.0
    work.diagonal().add_(dampening * work.diagonal().mean())
    lower, info = torch.linalg.cholesky_ex(work)
    if int(info) != 0 or not bool(torch.isfinite(lower).all()):
        raise CallFailure(
            "not_a_number",
            f"Cannot quantize {layer}: the second moments of its inputs cannot be inverted",
            hint="Take more calibration windows",
        )
    inverse = torch.cholesky_inverse(lower)
    return Moments(order, torch.linalg.cholesky(inverse, upper=True), dead)


def grids_of(weights: torch.Tensor, one: Format, clip: bool = True) -> Grids:
    """The grids that llm-compressor's observers give: with `clip` below 7 bits of the ranges that
    `shrunk` finds, else of all weights. weights: (o, i) float32"""
    import torch
    from compressed_tensors.quantization import QuantizationArgs, QuantizationStrategy
    from compressed_tensors.quantization.utils import calculate_qparams

    by_group = one.group_size != -1
    arguments: Any = QuantizationArgs(
        num_bits=one.bits,
        symmetric=one.symmetric,
        strategy=QuantizationStrategy.GROUP if by_group else QuantizationStrategy.CHANNEL,
        group_size=one.group_size if by_group else None,
    )
    rows, columns = weights.shape
    width = one.group_size if by_group else columns
    groups = weights.reshape(-1, width)
    step = max(1, SEARCHED // width)
    least, most = [], []
    for start in range(0, len(groups), step):
        own = groups[start : start + step]
        low, high = own.amin(1, keepdim=True), own.amax(1, keepdim=True)
        if clip and one.bits < CLIPPED:
            low, high = shrunk(own, low, high, arguments)
        least.append(low)
        most.append(high)
    scales, zeros = calculate_qparams(torch.cat(least), torch.cat(most), arguments)
    return Grids(one, scales.float().reshape(rows, -1), zeros.float().reshape(rows, -1))


def shrunk(
    groups: torch.Tensor, least: torch.Tensor, most: torch.Tensor, arguments: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """The ranges, of 20 that are each a hundredth smaller than the one before, in which the sum of
    abs(error) ** 2.4 is least: llm-compressor's search without its new tensors at every step.

    groups: (n, g); least, most and what is returned: (n, 1)
    """
    import torch
    from compressed_tensors.quantization.utils import calculate_qparams

    low, high = -(2.0 ** (arguments.num_bits - 1)), 2.0 ** (arguments.num_bits - 1) - 1
    lowest = torch.full_like(least, torch.inf)
    best_least, best_most = least, most
    work = torch.empty_like(groups)
    for shrink in range(SHRINKS):
        factor = 1 - shrink / 100
        tried = least * factor, most * factor
        scales, zeros = calculate_qparams(*tried, arguments)
        torch.div(groups, scales, out=work)
        if not arguments.symmetric:
            work += zeros
        work.clamp_(low, high).round_()
        if not arguments.symmetric:
            work -= zeros
        work.mul_(scales).sub_(groups)
        # (e²) ** 1.2 by logarithms: half the time of pow.
        error = work.square_().log2_().mul_(1.2).exp2_().sum(1, keepdim=True)
        better = error < lowest
        lowest = torch.minimum(error, lowest)
        best_least = torch.where(better, tried[0], best_least)
        best_most = torch.where(better, tried[1], best_most)
    return best_least, best_most


@dataclass(frozen=True)
class Unit:
    """Rows of one layer, in every format: what they become depends on nothing beside them, so that
    a layer has the same bytes whichever others and whichever formats it is made with."""

    layer: int
    rows: int  # without the zero rows that fill the last vector of a processor
    weights: torch.Tensor  # (o, i) float32


def units_of(weights: Sequence[torch.Tensor]) -> list[Unit]:
    """The layers' rows, so many that a product over them is still a fast one."""
    from torch.nn.functional import pad

    return [
        Unit(number, len(rows), pad(rows, (0, 0, 0, -len(rows) % VECTOR)))
        for number, own in enumerate(weights)
        for rows in own.split(UNIT)
    ]


def stacks_of(units: Sequence[Unit], formats: int) -> list[list[Unit]]:
    """Units that go through a loop together."""
    stacks: list[list[Unit]] = []
    filled = STACKED
    for unit in units:
        count = formats * len(unit.weights)
        if filled + count > STACKED:
            stacks.append([])
            filled = 0
        stacks[-1].append(unit)
        filled += count
    return stacks


def round_stacked(
    weights: Sequence[torch.Tensor],
    moments: Moments,
    formats: Sequence[Format],
    layer: str,
    threads: int = 1,
    clip: bool = True,
) -> list[list[tuple[GridTensor, float]]]:
    """Layers that are given the same input in every format, and what each costs its outputs.

    weights: by layer (o, i) float32; layer: for failures; clip: as `grids_of` takes it
    returns: by layer and format the tensor, and tr(ΔW H ΔWᵀ), dampened
    raises: CallFailure "not_a_number" where the weights are not finite
    """
    import torch

    if not all(bool(torch.isfinite(own).all()) for own in weights):
        raise CallFailure("not_a_number", f"Cannot quantize {layer}: its weights are not finite")

    def made(stack: Sequence[Unit]) -> list[list[tuple[Grids, torch.Tensor, torch.Tensor]]]:
        grids = [[grids_of(unit.weights, one, clip) for one in formats] for unit in stack]
        found = run_columns(stack, moments, [one for of in grids for one in of])
        per = len(formats)
        return [
            [(one, *found[per * n + m]) for m, one in enumerate(of)] for n, of in enumerate(grids)
        ]

    units = units_of(weights)
    with torch.no_grad(), ThreadPoolExecutor(threads) as pool:
        stacks = pool.map(made, stacks_of(units, len(formats)))
        done = [one for stack in stacks for one in stack]
    return [
        [
            joined([(u.rows, *of[m]) for u, of in zip(units, done, strict=True) if u.layer == n])
            for m in range(len(formats))
        ]
        for n in range(len(weights))
    ]


def joined(
    parts: Sequence[tuple[int, Grids, torch.Tensor, torch.Tensor]],
) -> tuple[GridTensor, float]:
    """A layer in a format of its units: rows, grids, integers, what each row lost."""
    import torch

    one = parts[0][1].format
    ints = torch.cat([found[:rows] for rows, _, found, _ in parts])
    scales = torch.cat([grids.scales[:rows] for rows, grids, _, _ in parts])
    zeros = torch.cat([grids.zeros[:rows] for rows, grids, _, _ in parts]).to(torch.int8)
    error = sum(float(lost[:rows].sum()) for rows, _, _, lost in parts)
    tensor = GridTensor(
        ints.numpy(),
        stored_scales(scales.numpy()),
        None if one.symmetric else zeros.numpy(),
        one.bits,
        one.group_size,
    )
    return tensor, error


def run_columns(
    stack: Sequence[Unit], moments: Moments, grids: Sequence[Grids]
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The loop itself. grids: of each unit in each format; N: rows of all of them

    returns: of each grids (o, i) int8 integers and (o,) float64 errors
    """
    import torch

    order, factor = moments.order, moments.factor
    columns = len(order)
    per = len(grids) // len(stack)
    # A column is a row here: what is done to it is done to neighbouring numbers.
    work = torch.cat(
        [unit.weights.masked_fill(moments.dead, 0.0).T[order].repeat(1, per) for unit in stack], 1
    )  # (i, N)
    sizes = [len(one.scales) for one in grids]
    bits = torch.tensor([one.format.bits for one in grids])
    high = (2.0 ** (bits - 1) - 1).float().repeat_interleave(torch.tensor(sizes))
    low = -high - 1
    shifted = any(not one.format.symmetric for one in grids)
    ints = torch.empty(work.shape, dtype=torch.int8)
    lost = torch.zeros(work.shape[1], dtype=torch.float64)
    for start in range(0, columns, BLOCK):
        end = min(start + BLOCK, columns)
        block = work[start:end]
        scales = by_column([(one.scales, one) for one in grids], order[start:end], columns)
        zeros = by_column([(one.zeros, one) for one in grids], order[start:end], columns)
        own = factor[start:end, start:end]
        errors = torch.empty_like(block)
        for i in range(end - start):
            scaled = block[i] / scales[i]
            if shifted:
                scaled += zeros[i]
            torch.clamp(scaled, low, high, out=scaled)
            scaled.round_()
            ints[start + i] = scaled
            if shifted:
                scaled -= zeros[i]
            scaled *= scales[i]
            error = torch.sub(block[i], scaled, out=errors[i]).div_(own[i, i])
            block[i + 1 :].addcmul_(own[i, i + 1 :, None], error[None], value=-1)
        lost += errors.double().square().sum(0)
        later = factor[start:end, end:].T
        for part, wrong in zip(work[end:].split(sizes, 1), errors.split(sizes, 1), strict=True):
            part.addmm_(later, wrong, alpha=-1)  # a product each: its sums are its own
    inverse = order.argsort()
    found = ints[inverse].split(sizes, 1)
    return [(one.T.contiguous(), of) for one, of in zip(found, lost.split(sizes), strict=True)]


def by_column(
    values: Sequence[tuple[torch.Tensor, Grids]], order: torch.Tensor, columns: int
) -> torch.Tensor:
    """A number a group as a number a weight of these columns. returns: (columns asked, N)"""
    import torch

    parts = []
    for found, grids in values:
        size = columns if grids.format.group_size == -1 else grids.format.group_size
        parts.append(found.T[order // size])
    return torch.cat(parts, dim=1)
