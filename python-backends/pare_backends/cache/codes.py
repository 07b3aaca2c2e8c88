"""Keys and values as codes of a few bits, packed. Letters as in policy.py, N tokens, G groups."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch

Coded = tuple[torch.Tensor, ...]
"""What a coder made of keys and values; along dimension 2 of each lie tokens, or groups of them."""


class Coder(ABC):
    """How the tokens of a layer are stored; the last `residual` of them stay as they are."""

    unit: int
    """Tokens that are coded together."""
    bits: int
    residual: int

    @abstractmethod
    def encode(self, keys: torch.Tensor, values: torch.Tensor) -> Coded:
        """keys, values: (B, K, N, D), N whole units"""

    @abstractmethod
    def decode(self, coded: Coded, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values near those that were coded: (B, K, N, D)"""

    def words(self) -> str:
        """For a sentence."""
        return f"{type(self).__name__} codes of {self.bits} bits"


@dataclass(frozen=True)
class KIVI(Coder):
    """Whole numbers from the least to the most of a group: of keys one feature of `unit` tokens, of
    values `unit` features of one token (Liu et al. 2024, arXiv 2402.02750). Each group has its
    least and its step in float16: bits + 32 / unit a value."""

    bits: int
    unit: int
    residual: int

    def encode(self, keys: torch.Tensor, values: torch.Tensor) -> Coded:
        by_channel = keys.unflatten(-2, (-1, self.unit))  # (B, K, G, unit, D)
        by_token = values.unflatten(-1, (-1, self._width(values)))  # (B, K, N, D / width, width)
        return (*self._rounded(by_channel, -2), *self._rounded(by_token, -1))

    def decode(self, coded: Coded, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        key_codes, key_least, key_step, codes, least, step = coded
        width = key_least.shape[-1]
        keys = unpacked(key_codes, width, self.bits).to(dtype) * key_step.to(dtype)
        own = width // least.shape[-2]
        values = unpacked(codes, own, self.bits).to(dtype) * step.to(dtype)
        return (keys + key_least.to(dtype)).flatten(2, 3), (values + least.to(dtype)).flatten(-2)

    def _width(self, values: torch.Tensor) -> int:
        return self.unit if values.shape[-1] % self.unit == 0 else values.shape[-1]

    def _rounded(self, states: torch.Tensor, along: int) -> Coded:
        """(packed codes, least, step) of groups that lie along a dimension."""
        least = states.amin(dim=along, keepdim=True).to(torch.float16)
        most = states.amax(dim=along, keepdim=True)
        step = ((most - least) / (2**self.bits - 1)).to(torch.float16)
        whole = ((states - least) / step.clamp(min=torch.finfo(torch.float16).tiny)).round()
        return packed(whole.clamp(0, 2**self.bits - 1), self.bits), least, step


@dataclass(frozen=True)
class TurboQuant(Coder):
    """A vector's length in float16, and its direction, turned at random, coordinate by coordinate
    by the best codebook for squared errors (Zandieh et al. 2025, arXiv 2504.19874): bits + 16 / D a
    value."""

    bits: int
    residual: int
    seed: int = 0
    unit = 1

    def encode(self, keys: torch.Tensor, values: torch.Tensor) -> Coded:
        return (*self._coded(keys), *self._coded(values))

    def decode(self, coded: Coded, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        keys, key_length, values, length = coded
        return self._decoded(keys, key_length, dtype), self._decoded(values, length, dtype)

    def _coded(self, states: torch.Tensor) -> Coded:
        """(packed codes, lengths)"""
        wide = states.float()
        length = wide.norm(dim=-1, keepdim=True)
        turned = wide / length.clamp(min=1e-30) @ turn(states.shape[-1], self.seed).to(wide).T
        levels = codebook(states.shape[-1], self.bits).to(wide)
        codes = torch.bucketize(turned, (levels[1:] + levels[:-1]) / 2)
        return packed(codes, self.bits), length.to(torch.float16)

    def _decoded(
        self, codes: torch.Tensor, length: torch.Tensor, dtype: torch.dtype
    ) -> torch.Tensor:
        width = 8 * codes.shape[-1]  # of heads whose features 8 divides, as in every model
        levels = codebook(width, self.bits).to(codes.device)
        turned = levels[unpacked(codes, width, self.bits).long()]
        return (turned @ turn(width, self.seed).to(turned) * length).to(dtype)


@dataclass(frozen=True)
class UnbiasedTurboQuant(TurboQuant):
    """The same with a bit less for keys, which has the signs of what is left, projected at random:
    the product of a query with a key is then right on average, of values nothing changes. The
    length of what is left is in float16: 16 / D more bits a value of the keys."""

    def encode(self, keys: torch.Tensor, values: torch.Tensor) -> Coded:
        rough = TurboQuant(self.bits - 1, self.residual, self.seed)
        codes, length = rough._coded(keys)
        left = keys.float() - rough._decoded(codes, length, torch.float32)
        signs = left @ drawn(keys.shape[-1], self.seed).to(left).T > 0
        left_length = left.norm(dim=-1, keepdim=True).to(torch.float16)
        return (codes, length, packed(signs, 1), left_length, *self._coded(values))

    def decode(self, coded: Coded, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        codes, length, signs, left_length, values, of_values = coded
        rough = TurboQuant(self.bits - 1, self.residual, self.seed)._decoded(codes, length, dtype)
        width = rough.shape[-1]
        ones = 2 * unpacked(signs, width, 1).to(dtype) - 1
        left = ones @ drawn(width, self.seed).to(ones) * left_length.to(dtype)
        keys = rough + left * (math.sqrt(math.pi / 2) / width)
        return keys, self._decoded(values, of_values, dtype)


@functools.cache
def drawn(width: int, seed: int) -> torch.Tensor:
    """Normal numbers, that no direction is favoured by: (D, D) float32"""
    draw = torch.Generator().manual_seed(seed + 1)
    return torch.randn(width, width, generator=draw)


@functools.cache
def turn(width: int, seed: int) -> torch.Tensor:
    """A random orthogonal matrix: (D, D) float32"""
    draw = torch.Generator().manual_seed(seed)
    found: torch.Tensor = torch.linalg.qr(torch.randn(width, width, generator=draw))[0]
    return found


@functools.cache
def codebook(width: int, bits: int) -> torch.Tensor:
    """Lloyd's and Max's best levels for a coordinate of a random direction in so many dimensions,
    ascending: (2 ** bits,) float32"""
    reach = min(1.0, 10 / math.sqrt(width))
    ends = np.linspace(-reach, reach, 20_001)
    middles = (ends[1:] + ends[:-1]) / 2
    density = np.clip(1 - middles**2, 0, None) ** ((width - 3) / 2)
    mass, moment = (np.cumsum([0.0, *one]) for one in (density, density * middles))
    share = (np.arange(2**bits) + 0.5) / 2**bits
    levels = np.interp(share * mass[-1], mass, ends)
    for _ in range(10_000):
        edges = [-reach, *(levels[1:] + levels[:-1]) / 2, reach]
        of_mass, of_moment = (np.diff(np.interp(edges, ends, one)) for one in (mass, moment))
        before, levels = levels, of_moment / of_mass
        if np.abs(levels - before).max() < 1e-8:
            break
    return torch.from_numpy(levels).float()


def packed(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Whole numbers below 2 ** bits, in as many planes of bits: (..., D) to (..., bits, D / 8)
    uint8, with zeros where 8 does not divide D"""
    spare = -codes.shape[-1] % 8
    whole = torch.nn.functional.pad(codes.to(torch.uint8), (0, spare))
    planes = (whole[..., None, :] >> _bits(bits, whole)[:, None]) & 1
    return (planes.unflatten(-1, (-1, 8)) << _bits(8, whole)).sum(dim=-1, dtype=torch.uint8)


def unpacked(planes: torch.Tensor, width: int, bits: int) -> torch.Tensor:
    """The first `width` numbers: (..., bits, D / 8) uint8 to (..., width) uint8"""
    ones = (planes[..., None] >> _bits(8, planes)) & 1
    whole = ones.flatten(-2) << _bits(bits, planes)[:, None]
    return whole.sum(dim=-2, dtype=torch.uint8)[..., :width]


def _bits(count: int, like: torch.Tensor) -> torch.Tensor:
    return torch.arange(count, dtype=torch.uint8, device=like.device)
