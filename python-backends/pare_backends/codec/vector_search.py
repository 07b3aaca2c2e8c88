"""VPTQ's search (arXiv 2409.17066): columns of a matrix become numbers of centroids one after the
other, and the columns that are left make up for the error by the second moments of the inputs.

As GPTQ it minimises tr((W - Q) H (W - Q)ᵀ), H the second moments, and goes through the columns
with the largest inputs first. A codebook is refitted to the codes that were found by conjugate
gradients on the same error: the paper trains it there.

Letters: o rows, i columns, v weights a vector, m = ceil(o / v) vectors a column, k centroids.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pare_backends.checkpoint.forms.vectors import VectorProfile
from pare_backends.codec.codebooks import codebook, nearest

if TYPE_CHECKING:
    import torch

COLUMNS = 128  # whose errors reach the columns after them together
STEPS = 10  # of conjugate gradients


@dataclass(frozen=True)
class Target:
    """A matrix whose rows' scales are divided out, padded to whole vectors, in the order in which
    its columns are gone through."""

    weights: torch.Tensor  # (m · v, i) float32
    row_weights: torch.Tensor  # (m · v,) float32: what an error in a row counts, 0 in the padding
    moments: torch.Tensor  # (i, i) float32, dampened
    factor: torch.Tensor  # (i, i) float32: upper Cholesky factor of their inverse
    kept: int  # of the columns, the first ones stay as they are

    def error(self, made: torch.Tensor) -> float:
        """The weighted squared error, relative to that of zeros. made: (m · v, i)"""
        off = made - self.weights
        whole = self.cost(self.weights)
        return self.cost(off) / whole if whole > 0 else 0.0

    def cost(self, off: torch.Tensor) -> float:
        """tr(off H offᵀ), by rows' weights."""
        return float((((off @ self.moments) * off).sum(1).double() * self.row_weights).sum())


@dataclass(frozen=True)
class Coded:
    """A matrix in codes; numbers of its centroids by column, (i - kept, m) int64."""

    first: torch.Tensor
    second: torch.Tensor | None
    centroids: torch.Tensor  # (2^c + 2^r, v) float32, as float16 holds them
    kept: torch.Tensor  # (m · v, kept) float32, as float16 holds them

    def weights(self) -> torch.Tensor:
        """returns: (m · v, i) float32"""
        import torch

        found = self.centroids[self.first]
        if self.second is not None:
            found = found + self.centroids[self.second]
        return torch.cat([self.kept, found.flatten(1).T], dim=1)


def search(target: Target, profile: VectorProfile, refits: int, seed: int) -> Coded:
    """The codes with the least error that is met. refits: times that codebooks are refitted to
    their codes and the codes searched again"""
    import torch

    vectors = target.weights[:, target.kept :].T.reshape(-1, profile.length)
    costs = vector_costs(target, profile)
    books = [codebook(vectors, costs, 1 << profile.centroid_bits, seed)]
    best = one_pass(target, books)
    if profile.residual_bits:
        left = vectors - books[0][best.first.flatten()]
        books.append(codebook(left, costs, 1 << profile.residual_bits, seed + 1))
        best = one_pass(target, books)
    least = target.error(best.weights())
    for _ in range(refits):
        fitted = refitted(target, best)
        again = one_pass(target, list(torch.split(fitted.centroids, [len(b) for b in books])))
        found = min((fitted, again), key=lambda one: target.error(one.weights()))
        error = target.error(found.weights())
        if error >= least:
            break
        best, least = found, error
    return best


def vector_costs(target: Target, profile: VectorProfile) -> torch.Tensor:
    """What an error of each vector costs: its column's second moment, by its rows' mean weight.
    returns: ((i - kept) · m,)"""
    rows = target.row_weights.reshape(-1, profile.length).mean(1)
    columns = target.moments.diagonal()[target.kept :]
    return (columns[:, None] * rows).flatten()


def one_pass(target: Target, books: list[torch.Tensor]) -> Coded:
    """The nearest centroids column after column, each column's error passed on to later ones."""
    import torch

    left, factor = target.weights.clone(), target.factor
    length, columns = books[0].shape[1], left.shape[1]
    codes: list[list[torch.Tensor]] = [[] for _ in books]
    for start in range(0, columns, COLUMNS):
        end = min(columns, start + COLUMNS)
        errors = torch.zeros(len(left), end - start)
        for column in range(start, end):
            whole = left[:, column].clone()
            if column < target.kept:
                made = whole.half().float()
                left[:, column] = made
            else:
                made = coded_column(whole.reshape(-1, length), books, codes)
            error = (whole - made) / factor[column, column]
            left[:, column + 1 : end].addr_(error, factor[column, column + 1 : end], alpha=-1)
            errors[:, column - start] = error
        left[:, end:].addmm_(errors, factor[start:end, end:], alpha=-1)
    numbers = [torch.stack(own) for own in codes]
    second = numbers[1] + len(books[0]) if len(books) > 1 else None
    return Coded(numbers[0], second, torch.cat(books), left[:, : target.kept])


def coded_column(
    vectors: torch.Tensor, books: list[torch.Tensor], codes: list[list[torch.Tensor]]
) -> torch.Tensor:
    """A column from its nearest centroids, whose numbers are added to `codes`. vectors: (m, v);
    returns: (m · v,)"""
    import torch

    made = torch.zeros_like(vectors)
    for book, own in zip(books, codes, strict=True):
        found = nearest(vectors - made, book)
        own.append(found)
        made = made + book[found]
    return made.flatten()


def refitted(target: Target, coded: Coded) -> Coded:
    """The same codes with the centroids that make the error least: conjugate gradients, each
    centroid's steps by what its own vectors cost."""
    import torch

    centroids, length = coded.centroids, coded.centroids.shape[1]
    numbers = [own.flatten() for own in (coded.first, coded.second) if own is not None]

    def slope(off: torch.Tensor) -> torch.Tensor:
        """Of each centroid, what errors of the weights ask it to move by."""
        asked = (off @ target.moments)[:, target.kept :] * target.row_weights[:, None]
        vectors = asked.T.reshape(-1, length)
        sums = torch.zeros_like(centroids)
        for own in numbers:
            sums.index_add_(0, own, vectors)
        return sums

    def spread(step: torch.Tensor) -> torch.Tensor:
        return replace(coded, centroids=step, kept=torch.zeros_like(coded.kept)).weights()

    costs = vector_costs(target, VectorProfile(length, 1, 0))
    shares = torch.zeros(len(centroids))
    for own in numbers:
        shares.index_add_(0, own, costs)
    shares = shares.clamp_min(1e-20)[:, None]
    left = slope(target.weights - coded.weights())
    toward = left / shares
    along, size = toward, (left * toward).sum()
    for _ in range(STEPS):
        turned = slope(spread(along))
        length_along = (along * turned).sum()
        if not size > 0 or not length_along > 0:
            break
        step = size / length_along
        centroids = centroids + step * along
        left = left - step * turned
        toward = left / shares
        before, size = size, (left * toward).sum()
        along = toward + size / before * along
    return replace(coded, centroids=centroids.half().float())
