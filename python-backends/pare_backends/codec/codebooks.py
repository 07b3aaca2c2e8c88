"""Codebooks of vectors: k-means in which a vector counts by what an error of it costs.

Letters: n vectors of v numbers, k centroids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

DISTANCES = 1 << 21  # held at a time: 8 MiB stay in a cache
VECTORS_A_CENTROID = 256  # more of them move a centroid little
HEAVY = 4  # of so many that are taken one is among those that cost most
START_ROUNDS = 8
ROUNDS = 25
LEAST_GAIN = 1e-3  # of the cost: below it the rounds end


def nearest(vectors: torch.Tensor, centroids: torch.Tensor) -> torch.Tensor:
    """Number of the centroid nearest to each vector. vectors: (n, v); centroids: (k, v);
    returns: (n,) int64"""
    import torch

    lengths = centroids.square().sum(1) / 2
    step = max(1, DISTANCES // len(centroids))
    found = [
        torch.addmm(lengths, part, centroids.T, alpha=-1).argmin(1) for part in vectors.split(step)
    ]
    return torch.cat(found) if found else torch.zeros(0, dtype=torch.int64)


def codebook(vectors: torch.Tensor, weights: torch.Tensor, count: int, seed: int) -> torch.Tensor:
    """Centroids for which the sum over vectors of weight times squared distance is small.

    As k-means has it, from vectors drawn by chance; a centroid that is nearest to none takes the
    place of a vector that costs most.
    vectors: (n, v); weights: (n,), not negative; returns: (k, v) as float16 holds them
    """
    import torch

    chance = torch.Generator().manual_seed(seed)
    most = VECTORS_A_CENTROID * count
    if len(vectors) > most:
        vectors, weights = drawn(vectors, weights, most, chance)
    centroids = started(vectors, weights, count, chance)
    before = float("inf")
    for _ in range(ROUNDS):
        codes = nearest(vectors, centroids)
        costs = weights * (vectors - centroids[codes]).square().sum(1)
        now = float(costs.double().sum())
        if now >= (1 - LEAST_GAIN) * before:
            break
        before = now
        centroids = moved(vectors, weights, codes, costs, centroids)
    return centroids.half().float()


def drawn(
    vectors: torch.Tensor, weights: torch.Tensor, most: int, chance: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """So many vectors with their weights: those that cost most, and of the others some by chance,
    which stand for all of them.

    By chance alone a column of very large inputs is hardly met, and no centroid lies near it.
    """
    import torch

    order = (weights * vectors.square().sum(1)).argsort(descending=True, stable=True)
    heavy, others = order[: most // HEAVY], order[most // HEAVY :]
    some = others[torch.randperm(len(others), generator=chance)[: most - len(heavy)]]
    share = len(some) / len(others)
    taken = torch.cat([heavy, some])
    return vectors[taken], torch.cat([weights[heavy], weights[some] / share])


def started(
    vectors: torch.Tensor, weights: torch.Tensor, count: int, chance: torch.Generator
) -> torch.Tensor:
    """Vectors to start from: some by chance, then in a few rounds those that cost much as it is are
    drawn more often (k-means||). returns: (k, v)"""
    import torch

    at_once = -(-count // START_ROUNDS)
    picked = torch.randperm(len(vectors), generator=chance)[:at_once]
    while len(picked) < count:
        own = vectors[picked]
        costs = weights * (vectors - own[nearest(vectors, own)]).square().sum(1)
        costs[picked] = 0
        left = min(at_once, count - len(picked), int((costs > 0).sum()))
        if left == 0:  # fewer vectors than centroids: what is left over is never nearest
            return torch.cat([own, own[:1].expand(count - len(own), -1)])
        drawn = torch.multinomial(costs.double(), left, generator=chance)
        picked = torch.cat([picked, drawn])
    return vectors[picked]


def moved(
    vectors: torch.Tensor,
    weights: torch.Tensor,
    codes: torch.Tensor,
    costs: torch.Tensor,
    centroids: torch.Tensor,
) -> torch.Tensor:
    """The weighted means of each centroid's own vectors. costs: (n,) of the vectors as coded"""
    import torch

    sums = torch.zeros_like(centroids).index_add_(0, codes, vectors * weights[:, None])
    shares = torch.zeros(len(centroids)).index_add_(0, codes, weights)
    empty = shares <= 0
    means = torch.where(empty[:, None], centroids, sums / shares.clamp_min(1e-30)[:, None])
    lone = min(int(empty.sum()), len(vectors))
    if lone:
        means[empty.nonzero()[:lone, 0]] = vectors[costs.topk(lone).indices]
    return means
