"""NF4 (Dettmers et al. 2023, arXiv 2305.14314): four bits per weight, at the quantiles of a normal
distribution, with a scale for each block of 64; a linear layer that multiplies them out."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from pare_backends.checkpoint.forms import number_tables

if TYPE_CHECKING:
    from collections.abc import Collection

BLOCK = 64
"""Weights in a row that share a scale, as in bitsandbytes."""


def code_book() -> torch.Tensor:
    """The 16 values from -1 to 1, bitsandbytes' own table. returns: (16,) float32, rising"""
    return torch.tensor(number_tables.NF4)


@functools.cache
def pairs() -> torch.Tensor:
    """The two values of every byte: one look-up in place of two. returns: (256, 2) float32"""
    book = code_book()
    return torch.stack([book.repeat_interleave(16), book.repeat(16)], dim=1)


@dataclass(frozen=True)
class NF4:
    """A matrix in four bits per weight and a float32 scale per block."""

    codes: torch.Tensor  # (blocks, BLOCK / 2) uint8: two weights a byte, the first one high
    scales: torch.Tensor  # (blocks,) float32: each block's largest absolute value
    shape: tuple[int, int]

    @classmethod
    def of(cls, weight: torch.Tensor) -> NF4:
        """The nearest values. weight: (out, in) float; the last block is filled with zeros"""
        flat = weight.detach().float().reshape(-1)
        padded = torch.nn.functional.pad(flat, (0, -flat.numel() % BLOCK)).reshape(-1, BLOCK)
        scales = padded.abs().amax(dim=1)
        shares = padded / torch.where(scales == 0, 1.0, scales).unsqueeze(1)
        book = code_book().to(shares.device)
        nearest = torch.bucketize(shares, (book[1:] + book[:-1]) / 2).to(torch.uint8)
        codes = nearest[:, 0::2] * 16 + nearest[:, 1::2]
        return cls(codes, scales, (weight.shape[0], weight.shape[1]))

    def weight(self) -> torch.Tensor:
        """The values that it stands for: (out, in) float32"""
        table = pairs().to(self.codes.device)
        values = table.index_select(0, self.codes.reshape(-1).int())  # two weights a byte
        blocks = values.view(-1, BLOCK).mul_(self.scales.unsqueeze(1))
        out, into = self.shape
        return blocks.view(-1)[: out * into].view(out, into)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes in memory."""
        return int(self.codes.numel() + 4 * self.scales.numel())


class MultipliedOut(torch.autograd.Function):
    """inputs · weightᵀ with the weight multiplied out for the product alone, once forward and once
    backward: autograd would keep it between the two."""

    @staticmethod
    def forward(ctx: Any, inputs: torch.Tensor, held: NF4) -> torch.Tensor:  # type: ignore[override]
        ctx.held = held
        return inputs @ held.weight().T

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:  # type: ignore[override]
        return gradient @ ctx.held.weight(), None


class NF4Linear(torch.nn.Linear):
    """A linear layer that holds its weight in NF4; the weight itself gets no gradient."""

    held: NF4

    @classmethod
    def over(cls, linear: torch.nn.Linear) -> NF4Linear:
        """The layer in the place of a plain one, whose bias it takes."""
        made = cls(linear.in_features, linear.out_features, device="meta")
        made.held = NF4.of(linear.weight)
        made.weight = torch.nn.Parameter(torch.empty(0), requires_grad=False)
        made.bias = linear.bias
        return made

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """inputs: (…, in); returns: (…, out)"""
        out: torch.Tensor = MultipliedOut.apply(inputs, self.held)
        return out if self.bias is None else out + self.bias


def hold_in_nf4(model: torch.nn.Module, modules: Collection[str]) -> int:
    """Replaces these plain linear modules, one after another; returns the bytes that they take."""
    taken = 0
    for name in modules:
        parent, _, own = name.rpartition(".")
        held = NF4Linear.over(model.get_submodule(name))  # type: ignore[arg-type]
        setattr(model.get_submodule(parent), own, held)
        taken += held.held.nbytes
    return taken
