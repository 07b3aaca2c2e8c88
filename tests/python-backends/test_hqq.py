"""`hqq`: no worse than rounding to nearest anywhere, better where the grid is coarse."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_model import tiny_dir

from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.quantization.hqq import fitted, outliers
from pare_backends.quantization.rounding import round_matrix


def lost(weights: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Mean absolute error of each group of 32."""
    return np.asarray(np.abs(weights - made).reshape(-1, 32).mean(axis=1), dtype=np.float64)


@pytest.mark.parametrize("bits", [8, 4, 3, 2])
def test_no_group_of_a_real_layer_loses_more_than_by_rounding_to_nearest(
    bits: int,
) -> None:
    weights = read(tiny_dir()).weight("model.layers.1.mlp.down_proj")
    nearest = lost(weights, round_matrix("layer", weights, bits, 32, False).weight())
    found = fitted("layer", weights, bits, 32, 20)
    assert found.zero_points is not None and found.bits == bits
    assert (lost(weights, found.weight()) <= nearest * (1 + 1e-5)).all()
    if bits < 8:
        assert lost(weights, found.weight()).mean() < 0.99 * nearest.mean()


def test_an_outlier_does_not_stretch_the_grid_of_the_others() -> None:
    rng = np.random.default_rng(0)
    weights = (rng.standard_normal((8, 64)) * 0.02).astype(np.float32)
    weights[:, 5] = 0.12
    nearest = np.abs(round_matrix("layer", weights, 2, 64, False).weight() - weights).mean()
    found = np.abs(fitted("layer", weights, 2, 64, 20).weight() - weights).mean()
    assert found < 0.8 * nearest


def test_the_shrinkage_is_the_published_one() -> None:
    """sign(x) · relu(|x| − |x|^(p − 1) / β), p = 0.7, by hand; no errors, no outliers."""
    found = outliers(np.float32([[0.0, 0.05, -0.5, 2.0]]), 10.0)
    assert found.tolist()[0] == pytest.approx(
        [0.0, 0.0, -(0.5 - 0.5**-0.3 / 10), 2 - 2**-0.3 / 10], rel=1e-6
    )


@pytest.mark.parametrize("fill", [0.0, 0.25, -3.0])
def test_constant_rows_come_back(fill: float) -> None:
    weights = np.full((3, 64), fill, np.float32)
    assert fitted("layer", weights, 2, -1, 5).weight() == pytest.approx(weights, rel=1e-3)


def test_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(CallFailure, match="not finite"):
        fitted("layer", np.full((2, 32), np.inf, np.float32), 4, 32, 5)
