"""`rtn`: errors are those of the theory, and bits cost what they cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_model import accuracy, act, tiny_dir

from pare_backends.checkpoint import load_dequantized, read
from pare_backends.failures import CallFailure
from pare_backends.quantization.rounding import round_matrix

# Relative squared errors on Gaussian weights in groups of 64, from an independent implementation.
ORACLE = [
    (8, True, 0.00004),
    (4, True, 0.0116),
    (4, False, 0.0083),
    (3, True, 0.063),
    (3, False, 0.038),
    (2, True, 0.515),
    (2, False, 0.209),
]


def gaussian(rows: int = 256, columns: int = 1536) -> np.ndarray:
    values = np.random.default_rng(0).standard_normal((rows, columns))
    return (values * 0.02).astype(np.float32)


def relative_error(weights: np.ndarray, back: np.ndarray) -> float:
    return float(np.square(weights - back).sum() / np.square(weights).sum())


@pytest.mark.parametrize(("bits", "symmetric", "expected"), ORACLE)
def test_error_on_gaussian_weights(bits: int, symmetric: bool, expected: float) -> None:
    weights = gaussian()
    tensor = round_matrix("w", weights, bits, 64, symmetric)
    assert relative_error(weights, tensor.dequantize()) == pytest.approx(
        expected, rel=0.1, abs=6e-6
    )


@pytest.mark.parametrize("symmetric", [True, False])
def test_no_error_is_larger_than_half_a_step(symmetric: bool) -> None:
    weights = gaussian(32, 64)
    tensor = round_matrix("w", weights, 4, 32, symmetric)
    error = np.abs(weights - tensor.dequantize()).reshape(32, 2, 32)
    # An asymmetric zero point is an integer itself, which shifts the ends by up to half a step.
    allowed = (0.5 if symmetric else 1.0) * np.abs(tensor.scales)[:, :, None]
    assert (error <= allowed * 1.01).all()


def test_clip_never_raises_a_groups_error() -> None:
    weights = gaussian(64, 256)
    weights[:, ::64] *= 8  # outliers make clipping worth while
    plain = round_matrix("w", weights, 3, 64, True).dequantize()
    clipped = round_matrix("w", weights, 3, 64, True, clip=True).dequantize()
    per_group = (np.abs(weights - plain) ** 2.5).reshape(-1, 64).sum(1)
    per_group_clipped = (np.abs(weights - clipped) ** 2.5).reshape(-1, 64).sum(1)
    assert (per_group_clipped <= per_group * (1 + 1e-6)).all()
    assert per_group_clipped.sum() < 0.95 * per_group.sum()


def test_a_group_of_zeros_stays_zero() -> None:
    weights = gaussian(4, 64)
    weights[1] = 0
    assert (round_matrix("w", weights, 4, 32, True).dequantize()[1] == 0).all()


def test_not_a_number_is_named() -> None:
    weights = gaussian(4, 64)
    weights[2, 3] = np.nan
    with pytest.raises(CallFailure) as caught:
        round_matrix("model.layers.3.q", weights, 4, 32, True)
    assert caught.value.kind == "not_a_number"
    assert "model.layers.3.q" in caught.value.message


def test_a_group_that_does_not_divide_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(CallFailure, match=r"groups of 48.*64") as caught:
        act(tmp_path / "child", "rtn", {"group_size": 48})
    assert caught.value.kind == "invalid"
    assert not (tmp_path / "child").exists()


def test_an_unknown_knob_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match='Did you mean "bits"'):
        act(tmp_path / "child", "rtn", {"bitz": 4})
    with pytest.raises(CallFailure, match="one of 2, 3, 4, 8"):
        act(tmp_path / "child", "rtn", {"bits": 5})


def test_targets_choose_the_part(tmp_path: Path) -> None:
    act(tmp_path / "embedding", "rtn", {"targets": "embedding", "bits": 8, "group_size": 32})
    assert set(read(tmp_path / "embedding").stored) == {"model.embed_tokens"}
    act(tmp_path / "all", "rtn", {"targets": "all", "group_size": 32})
    assert len(read(tmp_path / "all").stored) == 15


def test_two_bits_cost_right_answers_and_eight_do_not(tmp_path: Path) -> None:
    baseline = accuracy(*load_dequantized(tiny_dir()))
    assert baseline > 0.7
    for bits in (8, 2):
        act(tmp_path / str(bits), "rtn", {"bits": bits, "group_size": 64})
    eight = accuracy(*load_dequantized(tmp_path / "8"))
    two = accuracy(*load_dequantized(tmp_path / "2"))
    assert abs(eight - baseline) <= 0.02
    assert two < baseline - 0.15


@pytest.mark.parametrize("symmetric", [True, False])
def test_threads_change_no_bit(symmetric: bool) -> None:
    weights = np.random.default_rng(5).standard_normal((700, 576)).astype(np.float32)
    alone, beside = (
        round_matrix("m", weights, 3, 64, symmetric, clip=True, threads=threads)
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(alone.ints, beside.ints)
    np.testing.assert_array_equal(alone.scales, beside.scales)
    if not symmetric:
        np.testing.assert_array_equal(alone.zero_points, beside.zero_points)
