"""`detect_grid`: finds the grid that weights lie on, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from pare_backends.models.grid import detect_grid
from pare_backends.quantization.rounding import round_matrix

LAYERS = ("a", "b", "c", "d", "e")


def gaussian(seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal((96, 512)) * 0.03
    return values.astype(np.float32)


def q4_1(weights: np.ndarray) -> np.ndarray:
    """As GGUF's Q4_1 stores it: an offset and a step in float16 for each 32 weights."""
    groups = weights.reshape(-1, 32)
    low = groups.min(1, keepdims=True).astype(np.float16).astype(np.float32)
    step = ((groups.max(1, keepdims=True) - low) / 15).astype(np.float16).astype(np.float32)
    values = np.clip(np.round((groups - low) / step), 0, 15) * step + low
    return values.reshape(weights.shape).astype(np.float32)


def found(weights: dict[str, np.ndarray]) -> dict[str, object] | None:
    return detect_grid(list(weights), lambda name: weights[name], [512])


def test_the_grid_of_q4_1_is_found() -> None:
    grid = found({name: q4_1(gaussian(n)) for n, name in enumerate(LAYERS)})
    assert grid is not None
    assert (grid["bits"], grid["group_size"], grid["symmetric"]) == (4, 32, False)
    assert grid["fraction"] == 1.0
    assert float(str(grid["relative_error"])) < 2e-3


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("group", [32, 128])
def test_a_symmetric_grid_is_found(bits: int, group: int) -> None:
    weights = {
        name: round_matrix(name, gaussian(n), bits, group, True).dequantize()
        for n, name in enumerate(LAYERS)
    }
    grid = found(weights)
    assert grid is not None
    assert (grid["bits"], grid["symmetric"]) == (bits, True)
    assert group % int(str(grid["group_size"])) == 0


def test_trained_weights_lie_on_no_grid() -> None:
    assert found({name: gaussian(n) for n, name in enumerate(LAYERS)}) is None


def test_the_share_of_layers_on_the_grid_is_told() -> None:
    weights = {name: q4_1(gaussian(n)) for n, name in enumerate("abcdefgh")}
    weights["h"] = gaussian(99)  # not among the sampled ones
    grid = found(weights)
    assert grid is not None
    assert grid["fraction"] == pytest.approx(7 / 8)
