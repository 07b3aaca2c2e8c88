"""Mixes of kept layers in the model in memory: how far each moves the next-word distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.quantization.layers.kept import kept_layer
from pare_backends.quantization.layers.store import LayerStore
from pare_backends.quantization.mixing.candidates import Candidate
from pare_backends.quantization.mixing.formats import format_of
from pare_backends.quantization.mixing.restart import divergence

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Difference:
    """Of two mixes on the same windows: the first one's KL less the second one's."""

    mean: float  # nats per token; below 0 the first loses less
    low: float  # 95 % interval by Student's t over the windows
    high: float
    windows: int


def measure(
    model: Any,
    modules: Sequence[tuple[str, str]],
    store: LayerStore,
    windows: torch.Tensor,
    candidates: Sequence[Candidate],
    told: Callable[[int, int], None],
) -> list[list[float]]:
    """KL divergence from the model as it is, of each mix on each window.

    modules: (layer, module) in the model's order; windows: (windows, tokens) int64, of no text that
    the layers were made or scored by; returns: by candidate and window, nats per token
    Memory: the model's logits on all windows, windows · tokens · vocabulary · 4 bytes.
    """
    import torch

    with torch.inference_mode():
        truth = [logits_of(model, window) for window in windows]
        found = []
        for done, one in enumerate(candidates, start=1):
            with mixed_in(model, modules, store, one):
                found.append(
                    [
                        float(divergence(true, logits_of(model, window)).mean())
                        for true, window in zip(truth, windows, strict=True)
                    ]
                )
            told(done, len(candidates))
        return found


def logits_of(model: Any, window: torch.Tensor) -> torch.Tensor:
    """(tokens, vocabulary) float32"""
    logits: torch.Tensor = model(input_ids=window[None], use_cache=False).logits[0].float()
    return logits


@contextmanager
def mixed_in(
    model: Any, modules: Sequence[tuple[str, str]], store: LayerStore, candidate: Candidate
) -> Any:
    """Within, the model computes with the layers of a mix."""
    import torch

    originals = []
    try:
        for (layer, name), one in zip(modules, candidate.formats, strict=True):
            module = model.get_submodule(name)
            originals.append((module, module.weight.data))
            other = kept_layer(store, layer, format_of(one)).dequantize()
            module.weight.data = torch.from_numpy(other)
        yield
    finally:
        for module, weight in originals:
            module.weight.data = weight


def difference(first: Sequence[float], second: Sequence[float]) -> Difference | None:
    """Paired over windows; None of a single window."""
    from scipy.stats import t

    n = len(first)
    if n < 2:
        return None
    apart = [a - b for a, b in zip(first, second, strict=True)]
    mean = sum(apart) / n
    spread = math.sqrt(sum((one - mean) ** 2 for one in apart) / (n - 1) / n)
    half = float(t.ppf(0.975, n - 1)) * spread
    return Difference(mean, mean - half, mean + half, n)
