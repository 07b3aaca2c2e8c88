"""The low-rank matrix by which a layer's outputs come nearest to others, in closed form."""

from __future__ import annotations

import numpy as np

LEAST_SHARE = 1e-8
"""Of the largest eigenvalue: what inputs hardly ever do counts as if they did it so little."""


def factors(
    difference: np.ndarray, products: np.ndarray, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """(B, A): of all matrices B·A of this rank the one for which (difference − B·A)·x has the least
    squares over the inputs x.

    The difference is taken to the eigenspace of the inputs' second moments, each direction as long
    as inputs reach along it; what the largest singular values keep there is taken back
    (EoRA, Liu et al. 2024, arXiv 2410.21271, section 3). The factors share their size evenly, so
    that float16 holds both.

    difference: (out, in); products: (in, in), the sum of x·xᵀ; returns: (out, rank), (rank, in)
    float64
    """
    values, vectors = np.linalg.eigh(products.astype(np.float64))
    if values[-1] <= 0:  # no input was seen: nothing is known of what is lost
        return np.zeros((difference.shape[0], rank)), np.zeros((rank, difference.shape[1]))
    reach = np.sqrt(np.maximum(values, LEAST_SHARE * values[-1]))
    left, sizes, right = np.linalg.svd(
        difference.astype(np.float64) @ vectors * reach[None, :], full_matrices=False
    )
    high = left[:, :rank] * sizes[:rank]
    low = right[:rank] / reach[None, :] @ vectors.T
    # A direction whose two halves differ in length by powers of ten would lose digits in one.
    lengths = [np.linalg.norm(high, axis=0), np.linalg.norm(low, axis=1)]
    even = np.sqrt(
        np.where(lengths[0] > 0, lengths[0], 1) / np.where(lengths[1] > 0, lengths[1], 1)
    )
    return high / even[None, :], low * even[:, None]


def weighted_error(difference: np.ndarray, products: np.ndarray) -> float:
    """Sum of squares of difference·x over the inputs. difference: (out, in)"""
    whole = difference.astype(np.float64)
    return float(np.sum((whole @ products.astype(np.float64)) * whole))
