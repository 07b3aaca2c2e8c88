"""The nearest point of a sheared lattice, and the square and classes that suit a matrix best."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pare_backends.checkpoint.forms.lattice import LatticeProfile, LatticeTensor, Plane, planes_of

SIDES = (2.0, 3.0, 4.5, 6.0)
"""Sides of the inner square that are tried, in standard deviations: the published 0.1 suits one
model's weights alone."""
CODED_SIDES = (3.0, 4.5, 6.0, 8.0)
"""Where pairs are entropy coded: the more points lie where hardly a pair does, the fewer bits."""
TRIED_PAIRS = 1 << 15  # on which they are tried, evenly from the whole matrix
CHUNK_PAIRS = 1 << 16


def fitted(
    weights: np.ndarray,
    points: int,
    most_classes: int,
    entropy_coded: bool = False,
    most_error: float = math.inf,
) -> LatticeTensor:
    """The weights in this form, of the sides and numbers of classes the one with the least mean
    absolute error. Entropy coded, the one that takes the fewest bits for its error: a bit is worth
    half of it.

    weights: finite, of any shape; most_error: in standard deviations, that of an entropy coded one
    where there is any below it
    """
    pairs, x, y = paired(weights)
    reach = float(np.abs(pairs - (x, y)).max(initial=0))
    spread = float(pairs.std())
    some = pairs[:: max(1, len(pairs) // TRIED_PAIRS)]
    tried = [
        (plane, LatticeProfile(points, most_classes, classes))
        for plane in planes(x, y, spread, reach, CODED_SIDES if entropy_coded else SIDES)
        for classes in range(1, most_classes + 1)
    ]
    errors = [mean_error(some, *one) for one in tried]
    best = int(np.argmin(errors))
    if entropy_coded and spread > 0:
        fits = [n for n, error in enumerate(errors) if error <= most_error * spread] or [best]
        best = min(fits, key=lambda n: coded_bits(some, *tried[n]) + math.log2(errors[n] / spread))
    plane, profile = tried[best]
    chunks = range(0, len(pairs), CHUNK_PAIRS)
    parts = [numbers_of(pairs[start : start + CHUNK_PAIRS], plane, profile) for start in chunks]
    numbers = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    dimensions = tuple(int(n) for n in weights.shape)
    return LatticeTensor.of(numbers, plane, profile, dimensions, entropy_coded)


def paired(weights: np.ndarray) -> tuple[np.ndarray, float, float]:
    """(pairs in the order in which they lie, a lone last one with the mean beside it; the means of
    both). returns: (ceil(n / 2), 2) float64"""
    flat = weights.astype(np.float64).reshape(-1)
    if flat.size % 2:
        flat = np.append(flat, flat.mean())
    pairs = flat.reshape(-1, 2)
    x, y = pairs.mean(0) if len(pairs) else (0.0, 0.0)
    return pairs, float(np.float32(x)), float(np.float32(y))


def planes(
    x: float, y: float, spread: float, reach: float, factors: Sequence[float] = SIDES
) -> list[Plane]:
    """Planes with each of the sides; one of any side where all weights are alike."""
    sides = [float(np.float32(factor * spread)) for factor in factors]
    # As float32 it must not end before the farthest pair.
    far = float(np.nextafter(np.float32(reach), np.float32(np.inf)))
    return [Plane(x, y, side, max(far, side / 2)) for side in sides if side > 0] or [
        Plane(x, y, 1.0, max(far, 0.5))
    ]


def mean_error(pairs: np.ndarray, plane: Plane, profile: LatticeProfile) -> float:
    """Mean absolute error of the pairs' weights on this lattice."""
    made = LatticeTensor.of(np.zeros(0), plane, profile, ()).decoded(
        numbers_of(pairs, plane, profile)
    )
    return float(np.abs(made - pairs).mean())


def coded_bits(pairs: np.ndarray, plane: Plane, profile: LatticeProfile) -> float:
    """Bits a weight that an entropy coder needs of classes, rows and columns, each by itself."""
    bits = 0.0
    for values in planes_of(numbers_of(pairs, plane, profile), profile):
        shares = np.bincount(values)[np.bincount(values) > 0] / max(1, len(values))
        bits -= float((shares * np.log2(shares)).sum())
    return bits / 2


def numbers_of(pairs: np.ndarray, plane: Plane, profile: LatticeProfile) -> np.ndarray:
    """The numbers of the nearest points, each pair within its class.

    pairs: (n, 2) float64, none beyond the plane's reach; returns: (n,) int64
    """
    steps, half = math.isqrt(profile.points), plane.side / 2
    edges = plane.edges(profile.classes)
    around = pairs - (plane.x, plane.y)
    # The first class whose edge is not nearer to the centre than the pair.
    outside = np.searchsorted(edges, np.abs(around).max(1)).clip(0, profile.classes)
    drawn = around * (half / edges[outside])[:, None]
    return outside * (profile.points + 1) + nearest((drawn / plane.side + 0.5) * steps, steps)


def nearest(places: np.ndarray, steps: int) -> np.ndarray:
    """The nearest point of each place: 1 + i · s + j lies at (i + j / s, j), 0 in the centre.

    Rows of points are one apart and shifted little against each other, so that the nearest lies in
    the row below the place or in the one above it.
    places: (n, 2), from 0 to s; returns: (n,) int64
    """
    across, along = places.T
    best = np.full(len(places), 0)
    least = np.square(across - steps / 2) + np.square(along - steps / 2)
    below = np.floor(along)
    for row in (below, below + 1):
        j = row.clip(0, steps - 1)
        i = np.rint(across - j / steps).clip(0, steps - 1)
        distance = np.square(i + j / steps - across) + np.square(j - along)
        best = np.where(distance < least, 1 + i * steps + j, best)
        least = np.minimum(distance, least)
    return best.astype(np.int64)
