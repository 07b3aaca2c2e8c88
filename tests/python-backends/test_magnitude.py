"""`pruning/magnitude`: the smallest weights are zero, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from random_models import write_model
from tiny_model import accuracy, act, tiny_dir

from pare_backends.checkpoint import (
    BitmaskTensor,
    GridTensor,
    load_dequantized,
    read,
    weight_files,
)
from pare_backends.failures import CallFailure
from pare_backends.models.layout import layout_of
from pare_backends.pruning.magnitude import cut, cut_away, keep_pattern, magnitudes

PROBE = torch.arange(3, 30)[None]
ROUNDINGS: list[tuple[str, dict[str, Any]]] = [
    ("rtn", {"bits": 4, "group_size": 32}),
    ("rtn", {"bits": 3, "group_size": 16, "symmetric": False, "clip": True}),
    ("int8", {}),
    ("gptq", {"bits": 4, "group_size": 32}),
    ("gptq", {"bits": 4, "group_size": 32, "symmetric": False}),
    ("autoround", {"bits": 4, "group_size": 32, "iters": 2, "samples": 4, "seqlen": 64}),
]


def prune(out: Path, parent: Path | None = None, **params: Any) -> dict[str, Any]:
    return act(out, "magnitude", params, parent, agent="pruning")


def linear(directory: Path) -> tuple[str, ...]:
    return layout_of(directory).linear


def halves(directory: Path, layer: str) -> np.ndarray:
    return read(directory).weight(layer).astype(np.float16).astype(np.float32)


@pytest.mark.parametrize("sparsity", [0.1, 0.33, 0.5, 0.7])
def test_zeros_are_the_smallest_of_each_layer(tmp_path: Path, sparsity: float) -> None:
    prune(tmp_path / "child", sparsity=sparsity)
    child = read(tmp_path / "child")
    for layer in linear(tiny_dir()):
        source, pruned = halves(tiny_dir(), layer), child.weight(layer)
        zero = pruned == 0
        assert zero.sum() == round(sparsity * source.size)
        assert np.abs(source[zero]).max() <= np.abs(source[~zero]).min()
        assert (pruned[~zero] == source[~zero]).all()
    assert set(child.stored) == set(linear(tiny_dir()))
    parent = read(tiny_dir())
    for name in child.floats:
        assert (child.floats[name] == parent.floats[name].astype(np.float16)).all()


def test_a_global_cut_is_one_threshold_for_the_whole_model(tmp_path: Path) -> None:
    prune(tmp_path / "child", sparsity=0.4, scope="global")
    child = read(tmp_path / "child")
    layers = linear(tiny_dir())
    source = np.concatenate([read(tiny_dir()).weight(layer).ravel() for layer in layers])
    pruned = np.concatenate([child.weight(layer).ravel() for layer in layers])
    assert (pruned == 0).sum() == round(0.4 * source.size)
    assert np.abs(source[pruned == 0]).max() <= np.abs(source[pruned != 0]).min()
    shares = {layer: float((child.weight(layer) == 0).mean()) for layer in layers}
    assert max(shares.values()) - min(shares.values()) > 0.01


@pytest.mark.parametrize(("pattern", "kept", "width"), [("2:4", 2, 4), ("4:8", 4, 8)])
def test_every_few_columns_hold_as_many_zeros(
    tmp_path: Path, pattern: str, kept: int, width: int
) -> None:
    prune(tmp_path / "child", pattern=pattern)
    child = read(tmp_path / "child")
    for layer in linear(tiny_dir()):
        source, pruned = halves(tiny_dir(), layer), child.weight(layer)
        for row, was in zip(pruned.reshape(-1, width), source.reshape(-1, width), strict=True):
            assert (row == 0).sum() == width - kept
            assert np.abs(was[row == 0]).max() <= np.abs(was[row != 0]).min()


def test_patterns_run_along_the_input_of_a_layer_that_is_held_transposed(tmp_path: Path) -> None:
    source = write_model("gpt2", tmp_path / "source")
    prune(tmp_path / "child", source, pattern="2:4")
    child, layout = read(tmp_path / "child"), layout_of(source)
    assert layout.transposed
    for layer in layout.transposed:
        pruned = child.weight(layer)
        assert pruned.shape == read(source).weight(layer).shape
        inputs_last = np.ascontiguousarray(pruned.T).reshape(-1, 4)
        assert ((inputs_last == 0).sum(axis=1) == 2).all()


@pytest.mark.parametrize("params", [{"sparsity": 0.1}, {"sparsity": 0.5}, {"pattern": "2:4"}])
def test_the_file_weighs_what_the_formula_says(tmp_path: Path, params: dict[str, Any]) -> None:
    result = prune(tmp_path / "child", **params)
    (path,) = weight_files(tmp_path / "child")
    sparsity = params.get("sparsity", 0.5)
    header = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    assert result["size_bytes"] == path.stat().st_size == result["formula_bytes"] + header
    shapes = [read(tiny_dir()).weight(layer).size for layer in linear(tiny_dir())]
    floats = sum(v.size for v in read(tmp_path / "child").floats.values())
    by_hand = sum(n * (1 + 16 * (1 - sparsity)) / 8 for n in shapes) + 2 * floats
    assert result["formula_bytes"] == pytest.approx(by_hand, rel=0.01)
    assert result["weight_bits"] == pytest.approx(1 + 16 * (1 - sparsity), rel=0.01)
    assert result["stored_layers"] == 14 and result["activation_bits"] is None
    assert result["loader"] == "pare" and "bitmask" in result["notes"][0]


def test_a_little_pruning_leaves_the_model_what_it_was(tmp_path: Path) -> None:
    prune(tmp_path / "child", sparsity=0.1)
    assert accuracy(*load_dequantized(tmp_path / "child")) > 0.9


@pytest.mark.parametrize(("method", "params"), ROUNDINGS)
def test_a_pruned_model_is_rounded_and_its_zeros_stay_zero(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    prune(tmp_path / "pruned", pattern="2:4")
    result = act(tmp_path / "child", method, params, tmp_path / "pruned")
    pruned, child = read(tmp_path / "pruned"), read(tmp_path / "child")
    assert result["stored_layers"] == 14 and result["loader"] == "transformers"
    assert set(child.in_form(GridTensor)) == set(child.stored) == set(pruned.stored)
    for layer, tensor in pruned.in_form(BitmaskTensor).items():
        assert (child.weight(layer)[~tensor.kept()] == 0).all(), layer
    model, _ = load_dequantized(tmp_path / "child")
    assert torch.isfinite(model(PROBE).logits).all()


def test_a_rounded_model_is_not_pruned(tmp_path: Path) -> None:
    act(tmp_path / "one", "rtn", {"bits": 8, "group_size": 32})
    with pytest.raises(CallFailure, match="quantized already") as caught:
        prune(tmp_path / "two", tmp_path / "one")
    assert caught.value.kind == "invalid" and not (tmp_path / "two").exists()


def test_pruning_goes_on_from_a_pruned_model(tmp_path: Path) -> None:
    prune(tmp_path / "one", sparsity=0.3)
    prune(tmp_path / "two", tmp_path / "one", sparsity=0.6)
    prune(tmp_path / "once", sparsity=0.6)
    for layer in linear(tiny_dir()):
        twice, once = (read(tmp_path / name).weight(layer) for name in ("two", "once"))
        assert (twice == 0).sum() == (once == 0).sum()
        assert np.abs(twice).sum() == pytest.approx(np.abs(once).sum(), rel=1e-6)


@pytest.mark.parametrize("params", [{"sparsity": 0.4}, {"scope": "global"}])
def test_a_pattern_that_would_not_leave_the_sparsity_is_refused(
    tmp_path: Path, params: dict[str, Any]
) -> None:
    with pytest.raises(CallFailure, match="Cannot prune 2:4") as caught:
        prune(tmp_path / "child", pattern="2:4", **params)
    assert caught.value.kind == "invalid"


@pytest.mark.parametrize("count", [0, 1, 37, 200, 256])
def test_the_cut_takes_exactly_as_many_as_it_is_told(count: int) -> None:
    """Among them equal magnitudes, tiny ones and both signs, in parts of unequal length."""
    rng = np.random.default_rng(1)
    weights = rng.choice([-3.0, -1e-38, 0.0, 1e-3, 0.25, 0.25, -0.25, 3e4], 256).astype(np.float32)
    parts = [weights[:100], weights[100:101], weights[101:]]
    limit = cut(lambda: (magnitudes(part) for part in parts), count)
    pruned, taken = cut_away(weights, limit)
    gone = (pruned == 0) & (weights != 0)
    were_zero = int((weights == 0).sum())
    assert gone.sum() == max(0, count - were_zero) and taken <= limit.ties
    expected = np.sort(np.abs(weights))[count:].sum()
    assert np.abs(pruned).sum() == pytest.approx(expected)


def test_equals_in_a_pattern_are_kept_from_the_end() -> None:
    pruned = keep_pattern(np.array([[1, -1, 1, 1], [0, 0, 0, 5]], np.float32), 2, 4)
    assert pruned.tolist() == [[0, 0, 1, 1], [0, 0, 0, 5]]
