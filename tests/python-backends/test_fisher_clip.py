"""`fisher_clip`: of all ranges tried, a group takes the one its gradients would."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_architectures import model_dir
from test_gptq import divergence
from tiny_model import act, tiny_dir

from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.quantization.fisher_clip import LEAST_SHARE, Params, clipped
from pare_backends.quantization.rounding import grid, ranges


def weights(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(weights with far outliers, how much each counts): (6, 64) both."""
    rng = np.random.default_rng(seed)
    weight = rng.standard_t(3, size=(6, 64)).astype(np.float32)
    return weight, np.exp(2 * rng.normal(size=(6, 64))).astype(np.float32)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("bits", [2, 3, 4])
def test_each_group_takes_the_range_of_least_weighted_error(bits: int, symmetric: bool) -> None:
    """By hand, group after group and range after range."""
    weight, counts = weights(bits)
    made = clipped("w", weight, counts, Params(bits, 32, symmetric, search_steps=11)).dequantize()
    share = counts + LEAST_SHARE * counts.mean()
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    for row in range(6):
        for start in (0, 32):
            group = weight[row : row + 1, start : start + 32]
            own = share[row : row + 1, start : start + 32]
            smallest, largest = ranges(group, symmetric)
            errors = []
            for factor in np.linspace(1, 0.5, 11):
                scale, zero = grid(
                    smallest * np.float32(factor), largest * np.float32(factor), bits, symmetric
                )
                ints = np.clip(np.rint(group / scale + zero), low, high)
                errors.append(float((own * np.square((ints - zero) * scale - group)).sum()))
            chosen = float((own * np.square(made[row, start : start + 32] - group)).sum())
            assert chosen == pytest.approx(min(errors), rel=1e-4)


def test_gradients_choose_other_ranges_than_weights_alone() -> None:
    """An outlier that matters keeps its range; one that does not is cut off."""
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(2, 64)).astype(np.float32)
    weight[:, 7] = 6
    counts = np.ones((2, 64), np.float32)
    counts[0, 7], counts[1, 7] = 100, 1e-6
    made = clipped("w", weight, counts, Params(3, 64))
    assert made.scales[0, 0] > 1.3 * made.scales[1, 0]
    even = clipped("w", weight, np.ones_like(weight), Params(3, 64))
    assert even.scales[0, 0] == pytest.approx(even.scales[1, 0], rel=0.1)
    none = clipped("w", weight, np.zeros_like(weight), Params(3, 64))
    assert (none.ints == even.ints).all(), "an expert that no token was sent to"


@pytest.mark.parametrize("bits", [2, 3])
def test_it_stays_nearer_than_rounding(bits: int, tmp_path: Path) -> None:
    params = {"bits": bits, "group_size": 32}
    done = act(tmp_path / "own", "fisher_clip", params)
    act(tmp_path / "rtn", "rtn", params)
    # Than rtn with its own clip it is not always nearer: a diagonal from few windows is noisy.
    assert divergence(tmp_path / "own") < 0.9 * divergence(tmp_path / "rtn")
    told = {row["metric"]: row["value"] for row in done["figures"]}
    assert 0 < told["loss_rise"] < told["loss_rise_unclipped"]
    assert len(read(tmp_path / "own").stored) == 14


def test_a_group_that_does_not_divide_a_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match="in groups of 48"):
        act(tmp_path / "child", "fisher_clip", {"group_size": 48})


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(CallFailure, match="not finite"):
        clipped("w", np.full((2, 64), np.nan, np.float32), np.ones((2, 64), np.float32), Params())


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        act(tmp_path / name, "fisher_clip", {"bits": 3, "group_size": 32, "samples": 4})
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
    assert read(tiny_dir()).stored == {}


def test_a_tied_embedding_is_rounded_by_both_its_uses_and_stored_once(tmp_path: Path) -> None:
    params = {"bits": 3, "group_size": 32, "targets": "embedding"}
    done = act(tmp_path / "own", "fisher_clip", params)
    plain = act(tmp_path / "rtn", "rtn", params)
    assert done["formula_bytes"] == plain["formula_bytes"]
    assert list(read(tmp_path / "own").stored) == ["model.embed_tokens"]
    assert divergence(tmp_path / "own") < divergence(tmp_path / "rtn")


def test_a_head_of_its_own_is_rounded_by_its_own_gradients(tmp_path: Path) -> None:
    act(tmp_path / "own", "fisher_clip", {"targets": "all", "group_size": 32}, model_dir("mistral"))
    made = read(tmp_path / "own")
    assert {"model.embed_tokens", "lm_head"} < set(made.stored)
    assert made.stored["lm_head"] is not made.stored["model.embed_tokens"]
