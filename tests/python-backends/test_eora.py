"""`eora`: no factors of its rank are nearer, all of them restore, and they count in bytes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from distillation_fixtures import act as teach
from test_gptq import divergence
from tiny_model import act, action, calibration, tiny_dir

from pare_backends.calls import apply
from pare_backends.checkpoint import formula_bytes, read
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.quantization.correction.eigenspace import factors, weighted_error
from pare_backends.quantization.eora import Params


def eora(out: Path, parent: Path, reference: Path | None = None, **params: Any) -> dict[str, Any]:
    """The call's result; the child lies in `out`."""
    request = action(
        out,
        "quantization",
        "eora",
        params,
        parent,
        calibration_path=calibration(),
        reference_dir=reference or tiny_dir(),
    )
    return apply.run(request, silent_report())


@pytest.fixture(scope="module")
def rounded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rounded") / "model"
    act(out, "rtn", {"bits": 2, "group_size": 32, "clip": True})
    return out


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(difference, inputs, sum of their products); inputs reach 1,000 times as far in some."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(400, 24)) @ rng.normal(size=(24, 24)) * np.logspace(-1.5, 1.5, 24)
    return rng.normal(size=(16, 24)), inputs, inputs.T @ inputs


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rank", [1, 3, 8])
def test_no_factors_of_the_rank_are_nearer(seed: int, rank: int) -> None:
    difference, inputs, products = problem(seed)
    high, low = factors(difference, products, rank)
    assert (high.shape, low.shape) == ((16, rank), (rank, 24))
    own = weighted_error(difference - high @ low, products)
    assert own == pytest.approx(float(np.square(inputs @ (difference - high @ low).T).sum()))
    left, sizes, right = np.linalg.svd(difference)
    plain = weighted_error(difference - left[:, :rank] * sizes[:rank] @ right[:rank], products)
    assert own < plain
    # The least there is: what singular values of the outputs themselves leave.
    outputs = np.linalg.svd(inputs @ difference.T, compute_uv=False)
    assert own == pytest.approx(float(np.square(outputs[rank:]).sum()), rel=1e-6)


def test_the_full_rank_restores_the_outputs() -> None:
    difference, inputs, products = problem(7)
    high, low = factors(difference, products, 16)
    outputs = inputs @ difference.T
    assert np.abs(inputs @ (high @ low).T - outputs).max() < 1e-9 * np.abs(outputs).max()


def test_inputs_of_few_directions_are_no_division_by_zero() -> None:
    difference, inputs, _ = problem(1)
    few = inputs.copy()
    few[:, 5:] = 0
    high, low = factors(difference, few.T @ few, 16)
    assert np.isfinite(high).all() and np.isfinite(low).all()
    outputs = few @ difference.T
    assert np.abs(few @ (high @ low).T - outputs).max() < 1e-6 * np.abs(outputs).max()
    high, low = factors(difference, np.zeros((24, 24)), 4)
    assert (high @ low == 0).all()


def test_factors_bring_a_rounded_model_back_and_count(rounded: Path, tmp_path: Path) -> None:
    before, bytes_before = divergence(rounded), formula_bytes(read(rounded))
    found = []
    for rank in (4, 16, 32):
        done = eora(tmp_path / str(rank), rounded, rank=rank)
        found.append(divergence(tmp_path / str(rank)))
        child = read(tmp_path / str(rank))
        layers = [child.shape(layer) for layer in read(rounded).stored]
        factors_bytes = sum(2 * rank * (rows + columns) for rows, columns in layers)
        assert done["formula_bytes"] == bytes_before + factors_bytes
        assert child.stored["model.layers.0.mlp.up_proj"].FORM == "grid"
        # transformers alone would leave the factors out without a word.
        assert done["loader"] == "pare" and "transformers leaves out" in done["notes"][0]
    assert found[0] < 0.9 * before
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.1 * before, (found, before)


def test_it_beats_a_plain_decomposition_of_the_weights(rounded: Path, tmp_path: Path) -> None:
    eora(tmp_path / "child", rounded, rank=8)
    child = read(tmp_path / "child")
    assert child.adapter is not None
    source = read(tiny_dir())
    name = "model.layers.0.self_attn.q_proj"  # its inputs are the same in all three
    given = inputs_of(name)
    difference = source.weight(name) - child.weight(name)
    left, sizes, right = np.linalg.svd(difference)
    plain = left[:, :8] * sizes[:8] @ right[:8]
    own = child.adapter.delta(name)
    errors = [np.square(given @ (difference - one).T).sum() for one in (own, plain)]
    assert errors[0] < 0.95 * errors[1]


def inputs_of(layer: str) -> np.ndarray:
    """Of the tiny model's layer, by all calibration windows: (tokens, in)."""
    from safetensors.torch import load_file

    from pare_backends.checkpoint import load_dequantized

    seen: list[torch.Tensor] = []
    model = load_dequantized(tiny_dir())[0]
    module = model.get_submodule(layer)
    module.register_forward_pre_hook(lambda _, given: seen.append(given[0].flatten(0, -2)))
    with torch.inference_mode():
        model(load_file(str(calibration()))["input_ids"].long())
    found: np.ndarray = seen[0].double().numpy()
    return found


def test_behind_a_training_it_leads_back_to_the_trained_model(tmp_path: Path) -> None:
    steps = {"steps": 20, "lr": 5e-3, "alpha": 64, "tokens": 32, "held_out": 0}
    trained = teach(tmp_path / "trained", tiny_dir(), "finetuning", "lora", **steps)
    act(tmp_path / "rounded", "rtn", {"bits": 4, "group_size": 32}, parent=trained)
    eora(tmp_path / "child", tmp_path / "rounded", trained, rank=16)
    rounded, child, wanted, source = (
        read(path) for path in (tmp_path / "rounded", tmp_path / "child", trained, tiny_dir())
    )
    adapter = child.adapter
    assert adapter is not None
    before, after, from_original = 0.0, 0.0, 0.0
    for name in rounded.stored:
        inputs, corrected = inputs_of(name), child.weight(name) + adapter.delta(name)
        before += weighed(inputs, wanted.weight(name) - rounded.weight(name))
        after += weighed(inputs, wanted.weight(name) - corrected)
        from_original += weighed(inputs, source.weight(name) - corrected)
    assert after < 0.5 * before
    assert after < 0.1 * from_original, "what was trained is undone"


def weighed(inputs: np.ndarray, difference: np.ndarray) -> float:
    """Squares of what a difference of weights makes of the inputs. inputs: (tokens, in)"""
    return float(np.square(inputs @ difference.T).sum())


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("nf4", {}),
        ("hqq", {"bits": 2, "group_size": 32}),
        ("gptq", {"bits": 2, "group_size": 32, "samples": 4}),
    ],
)
def test_it_follows_on_every_rounding(method: str, params: dict[str, Any], tmp_path: Path) -> None:
    act(tmp_path / "rounded", method, params)
    eora(tmp_path / "child", tmp_path / "rounded", rank=16)
    assert divergence(tmp_path / "child") < 0.9 * divergence(tmp_path / "rounded")


def test_what_cannot_be_corrected_is_one_sentence(rounded: Path, tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match=r"rank 33: .* is 32 wide"):
        eora(tmp_path / "wide", rounded, rank=33)
    act(tmp_path / "awq", "awq", {"bits": 3, "group_size": 32})
    with pytest.raises(CallFailure, match=r"norm\.weight is not what it was: scales are folded"):
        eora(tmp_path / "folded", tmp_path / "awq", rank=4)
    with pytest.raises(CallFailure, match="nothing has rounded or pruned it"):
        eora(tmp_path / "alone", tiny_dir(), rank=4)
    eora(tmp_path / "once", rounded, rank=4)
    with pytest.raises(CallFailure, match="lies beside the parent's weights already"):
        eora(tmp_path / "twice", tmp_path / "once", rank=4)


def test_every_knob_reaches_the_factors(rounded: Path, tmp_path: Path) -> None:
    asked = {"usual": {}, "rank": {"rank": 5}, "samples": {"samples": 9}}
    found = []
    for name, params in asked.items():
        eora(tmp_path / name, rounded, **{"rank": 4, "samples": 4, **params})
        adapter = read(tmp_path / name).adapter
        assert adapter is not None
        found.append(adapter.delta("model.layers.0.mlp.up_proj"))
    assert set(asked) - {"usual"} == {field.name for field in dataclasses.fields(Params)}
    assert not np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])
