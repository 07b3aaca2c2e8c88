"""SeedLM's search (arXiv 2410.10714): of all seeds of a register, the one whose numbers come
nearest to a block of weights, with coefficients of 4 bits.

It is exhaustive without evaluating every seed. The least error that seed s could have with exact
coefficients is |w|² − |Qᵀw|², Q an orthonormal basis of its columns: a lower bound of its error
with rounded ones. |Qᵀw|² is the product of the features of w (its products in pairs) with those of
QQᵀ, so one matrix product bounds all seeds for many blocks. Seeds are evaluated in the order of
their bounds until the next bound is above the best error found: no seed that is left could be
better.

Letters: b blocks, s seeds, C weights a block, P coefficients, f features = C · (C + 1) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pare_backends.checkpoint.forms.seeds import SeedProfile
from pare_backends.checkpoint.forms.shift_register import projections

if TYPE_CHECKING:
    import torch

SCORES = 1 << 21  # bounds held at a time: 8 MiB stay in a cache, which is twice as fast as 64
FIRST_CANDIDATES = 8
MORE = 8  # times as many candidates for the blocks whose best seed is not proven yet
GROUP = 64  # seeds of which the best bound alone is looked at first
SLACK = 1e-5  # of |w|²: what float32 may be off in a bound
TABLE_SEEDS = 4096  # seeds whose table is computed at a time, in double precision
HIGHEST, LOWEST = 7, -8  # of an exponent or a coefficient
RULES = ("ceil", "floor", "best")
"""How the exponent of coefficients is chosen: the least with which the largest still rounds
to 7; the paper's floor(log2 max), which leaves most of the 16 values unused; or ceil's and the one
below it, whichever errs less. Squared error of Gaussian blocks at 16, 8, 3: 0.0148, 0.0357 and
0.0143."""


@dataclass(frozen=True)
class SeedTable:
    """What the search knows of every seed from 1 on, in order."""

    profile: SeedProfile
    bases: torch.Tensor  # (s, C, P) float32, U of each seed
    inverses: torch.Tensor  # (s, P, C) float32, its pseudo-inverse
    features: torch.Tensor  # (f, s in whole groups) float32; 0 in seeds that do not exist
    rule: str  # one of RULES

    @property
    def seeds(self) -> int:
        return int(self.bases.shape[0])


@dataclass(frozen=True)
class Found:
    """The best seed of each block, with its coefficients and its squared error."""

    seeds: torch.Tensor  # (b,) int64, from 1 on
    exponents: torch.Tensor  # (b,) int64
    coefficients: torch.Tensor  # (b, P) int64
    errors: torch.Tensor  # (b,) float32


def seed_table(profile: SeedProfile, rule: str = "ceil") -> SeedTable:
    """Bases, pseudo-inverses and features of all seeds; seconds for K = 16."""
    import torch

    width, rows, columns = profile
    seeds = np.arange(1, 1 << width)
    first, second = torch.triu_indices(rows, rows)
    twice = torch.where(first == second, 1.0, 2.0)
    bases, inverses, features = [], [], []
    for start in range(0, len(seeds), TABLE_SEEDS):
        whole = projections(seeds[start : start + TABLE_SEEDS], width, rows, columns)
        base = torch.from_numpy(whole / ((1 << (width - 1)) - 1))
        left, values, right = torch.linalg.svd(base, full_matrices=False)
        # As in pinv: of a rank that is not full, the directions that are there.
        real = values > values[:, :1] * max(rows, columns) * torch.finfo(values.dtype).eps
        left = left * real[:, None, :]
        scaled = torch.where(real, 1 / values, torch.zeros(()).to(values))
        inverses.append((right.mT * scaled[:, None, :] @ left.mT).float())
        features.append(((left @ left.mT)[:, first, second] * twice).float())
        bases.append(base.float())
    lacking = -len(seeds) % GROUP
    joined = torch.nn.functional.pad(torch.cat(features).T, (0, lacking)).contiguous()
    return SeedTable(profile, torch.cat(bases), torch.cat(inverses), joined, rule)


def search(blocks: torch.Tensor, table: SeedTable) -> Found:
    """The best seed of every block. blocks: (b, C) float32"""
    import torch

    step = max(1, SCORES // table.features.shape[1])
    parts = [chunk_found(chunk, table) for chunk in blocks.split(step)]
    return Found(
        torch.cat([part.seeds for part in parts]),
        torch.cat([part.exponents for part in parts]),
        torch.cat([part.coefficients for part in parts]),
        torch.cat([part.errors for part in parts]),
    )


def chunk_found(blocks: torch.Tensor, table: SeedTable) -> Found:
    """The same of blocks whose bounds fit into memory together."""
    import torch

    first, second = torch.triu_indices(blocks.shape[1], blocks.shape[1])
    kept = blocks[:, first] * blocks[:, second] @ table.features  # (b, s): |Qᵀw|²
    kept[:, table.seeds :] = -torch.inf
    square = blocks.square().sum(1)
    best: Found | None = None
    todo = torch.arange(len(blocks))
    count = min(FIRST_CANDIDATES, table.seeds)
    while True:
        candidates, others = likeliest(kept[todo], count, table.seeds)
        found = evaluate(blocks[todo], candidates, table)
        best = found if best is None else put(best, todo, found)
        # The least error that a seed could have which was not evaluated.
        bound = square[todo] * (1 - SLACK) - others
        todo = todo[bound < found.errors]
        if len(todo) == 0 or count == table.seeds:
            return best
        count = min(count * MORE, table.seeds)


def put(best: Found, places: torch.Tensor, found: Found) -> Found:
    """What was found of some of the blocks in its places."""
    for name in ("seeds", "exponents", "coefficients", "errors"):
        getattr(best, name)[places] = getattr(found, name)
    return best


def likeliest(kept: torch.Tensor, count: int, seeds: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(the seeds that keep most of each block, the most that another seed keeps).

    kept: (b, s in whole groups); returns: (b, count) int64 indices and (b,)
    """
    import torch

    groups = kept.view(len(kept), -1, GROUP)
    if count >= seeds or groups.shape[1] <= count:
        # Too few groups to leave any out.
        most = torch.topk(kept, min(count + 1, seeds), dim=1)
        rest = most.values[:, count:]
        gone = rest[:, 0] if rest.shape[1] else kept.new_full((len(kept),), -torch.inf)
        return most.indices[:, :count], gone
    heads = torch.topk(groups.amax(2), count + 1, dim=1)
    chosen = heads.indices[:, :count]  # (b, count) groups
    inside = groups.gather(1, chosen[:, :, None].expand(-1, -1, GROUP)).flatten(1)
    most = torch.topk(inside, count + 1, dim=1)
    places = most.indices[:, :count]
    found = chosen.gather(1, places // GROUP) * GROUP + places % GROUP
    return found, torch.maximum(most.values[:, count], heads.values[:, count])


def evaluate(blocks: torch.Tensor, candidates: torch.Tensor, table: SeedTable) -> Found:
    """The best of the candidates of each block, by the error of what would be stored.

    candidates: (b, c) indices of seeds, from 0 on
    """
    import torch

    best: Found | None = None
    step = max(1, SCORES // (blocks.shape[0] * table.bases[0].numel()))
    for some in candidates.split(step, dim=1):
        exact = torch.einsum("bcpr,br->bcp", table.inverses[some], blocks)
        exponents, coefficients, errors = nearest(blocks, exact, table.bases[some], table.rule)
        own, place = errors.min(1)
        rows = torch.arange(len(blocks))
        found = Found(
            some[rows, place] + 1,
            exponents[rows, place].long(),
            coefficients[rows, place].long(),
            own,
        )
        if best is None:
            best = found
        else:
            better = torch.nonzero(found.errors < best.errors)[:, 0]
            best = put(best, better, picked(found, better))
    assert best is not None  # there is a candidate at least
    return best


def picked(found: Found, places: torch.Tensor) -> Found:
    """What was found of some of the blocks."""
    return Found(
        found.seeds[places],
        found.exponents[places],
        found.coefficients[places],
        found.errors[places],
    )


def nearest(
    blocks: torch.Tensor, exact: torch.Tensor, bases: torch.Tensor, rule: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(exponents, coefficients, squared errors) of each seed, the best that the rule tries.

    exact: (b, c, P), bases: (b, c, C, P); returns: (b, c), (b, c, P) and (b, c)
    """
    import torch

    best: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None
    for exponents in exponents_tried(exact, rule):
        coefficients = rounded(exact, exponents)
        scaled = torch.ldexp(coefficients, exponents[:, :, None])
        made = torch.einsum("bcrp,bcp->bcr", bases, scaled)
        errors = (made - blocks[:, None]).square().sum(2)
        if best is None:
            best = exponents, coefficients, errors
        else:
            less = errors < best[2]
            best = (
                torch.where(less, exponents, best[0]),
                torch.where(less[:, :, None], coefficients, best[1]),
                torch.where(less, errors, best[2]),
            )
    assert best is not None  # a rule tries one at least
    return best


def exponents_tried(exact: torch.Tensor, rule: str) -> list[torch.Tensor]:
    """The exponents that the rule compares. exact: (…, P) float32; returns: each (…) int32"""
    import torch

    largest = exact.abs().amax(-1).clamp_min(torch.finfo(exact.dtype).tiny)
    if rule == "floor":
        return [torch.floor(torch.log2(largest)).clamp(LOWEST, HIGHEST).int()]
    whole = torch.ceil(torch.log2(largest / (HIGHEST + 0.5))).clamp(LOWEST, HIGHEST).int()
    return [whole] if rule == "ceil" else [whole, (whole - 1).clamp_min(LOWEST)]


def rounded(exact: torch.Tensor, exponents: torch.Tensor) -> torch.Tensor:
    """Coefficients q, q · 2^e being near the exact ones. (…, P) float32 and (…) int32; (…, P)"""
    import torch

    return torch.round(torch.ldexp(exact, -exponents[..., None])).clamp(LOWEST, HIGHEST)
