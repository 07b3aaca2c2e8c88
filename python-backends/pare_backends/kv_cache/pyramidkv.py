"""SnapKV's choice with a larger budget in the first layers than in the last (PyramidKV, Cai et al.
2024, arXiv 2406.02069): attention is spread there and narrow here."""

from __future__ import annotations

from pare_backends.cache.method import runs
from pare_backends.cache.policy import Seen
from pare_backends.knobs import declared_knobs
from pare_backends.kv_cache.snapkv import Params as SnapKVParams
from pare_backends.kv_cache.snapkv import SnapKV


@declared_knobs
class Params(SnapKVParams):
    """Knobs, as plugins/kv_cache/pyramidkv.ts declares them."""

    beta: int


class PyramidKV(SnapKV):
    """The last layer chooses a `beta`-th of the mean, the first as much more, those between go down
    in a straight line; sinks and window come on top, as in the authors' KVCache-Factory. There
    whole steps overshoot: here budgets sum to layers times `budget`."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self.beta = params.beta

    def budget(self, seen: Seen) -> int:
        always = self.sinks + self.window
        mean = self.total(seen.read) - always
        return always + line(mean, seen.read - always, self.beta, seen.layers)[seen.layer]

    def words(self) -> str:
        return f"{super().words()}, mean over layers of falling budgets"


def line(mean: int, most: int, beta: int, layers: int) -> list[int]:
    """Tokens that each layer chooses of `most`: whole numbers of this mean."""
    if most < 2 * mean:  # no layer could keep so much more than another
        return [mean] * layers
    least = mean // beta
    first = 2 * mean - least
    if first > most:
        first, least = most, 2 * mean - most
    upper = [
        first - (first - least) * number // max(1, layers - 1) for number in range(layers // 2)
    ]
    # Each of these layers has one as far from the end, so that what is rounded off is not lost.
    lower = [2 * mean - one for one in reversed(upper)]
    return [*upper, *[mean] * (layers % 2), *lower]


apply, attach = runs(PyramidKV)
