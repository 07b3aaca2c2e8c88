"""Layers kept in every format: the stacked loop against the library's own, and mixes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_gptq import divergence
from tiny_model import act, calibration, tiny_dir

from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report
from pare_backends.quantization.layers.columns import moments_of, round_stacked
from pare_backends.quantization.layers.make import DAMPENING, make_layers
from pare_backends.quantization.layers.store import LayerStore, source_of
from pare_backends.quantization.mixing.assignment import assigned, assignment_text
from pare_backends.quantization.mixing.formats import format_of

NAMES = ["2-bit-g32", "3-bit-g32", "3-bit-g32-asym", "4-bit-g64", "4-bit", "8-bit-g64"]


def a_context() -> Context:
    return Context(tiny_dir(), layout_of(str(tiny_dir())), silent_report(), 1, calibration())


def made(folder: Path, names: list[str], layers: int | None = None) -> tuple[LayerStore, Context]:
    """The store of the tiny model with these formats, of its first layers."""
    context = a_context()
    windows = context.calibration(16)
    model, _ = context.load_linear(read(tiny_dir()))
    store = LayerStore(folder, source_of(tiny_dir(), windows, DAMPENING))
    formats = [format_of(name) for name in names]
    wanted = {layer: formats for layer in context.layout.linear[:layers]}
    make_layers(model, wanted, windows, store, context)
    return store, context


@pytest.mark.parametrize("name", ["2-bit-g32", "3-bit-g32", "3-bit-g32-asym", "4-bit-g64", "4-bit"])
def test_a_stacked_layer_is_what_gptq_makes_of_it(tmp_path: Path, name: str) -> None:
    """In the first block, whose inputs nothing before it has changed. The second moments are summed
    in another order there, so that a weight halfway between two points may fall to the other, and
    with it what follows in its row. Two rows at most: a dampening of 1.02 % changes more."""
    (tmp_path / "store").mkdir()
    store, context = made(tmp_path / "store", NAMES)
    one = format_of(name)
    bits = {"bits": one.bits, "group_size": one.group_size, "symmetric": one.symmetric}
    act(tmp_path / "gptq", "gptq", {**bits, "samples": 16})
    other = read(tmp_path / "gptq").stored
    for layer in [layer for layer in context.layout.linear if ".layers.0." in layer]:
        found, error = store.find(layer, one) or (None, 0.0)
        assert found is not None and 0 < error < 1
        theirs: Any = other[layer]
        np.testing.assert_array_equal(found.scales, theirs.scales)
        assert (found.ints != theirs.ints).any(axis=1).sum() <= 2, layer
        if not one.symmetric:
            np.testing.assert_array_equal(found.zero_points, theirs.zero_points)


def test_the_error_of_a_layer_is_that_of_its_outputs() -> None:
    import torch

    torch.manual_seed(0)
    weights, inputs = torch.randn(24, 64), torch.randn(512, 64) @ torch.randn(64, 64)
    hessian = inputs.T @ inputs
    moments = moments_of(hessian, 0.01, "layer")
    dampened = (hessian + 0.01 * hessian.diagonal().mean() * torch.eye(64)).double()
    formats = [format_of(name) for name in NAMES]
    for stack in (formats, formats[2:3]):  # what a format becomes does not depend on the others
        for tensor, error in round_stacked([weights], moments, stack, "layer")[0]:
            change = torch.from_numpy(tensor.dequantize()).double() - weights.double()
            truth = float(((change @ dampened) * change).sum())
            assert error == pytest.approx(truth, rel=1e-2)  # scales are stored in float16


def test_a_killed_pass_goes_on_and_leaves_the_same_bytes(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    made(whole, NAMES)
    made(cut, NAMES, layers=5)  # as a kill in the midst of a block leaves it
    made(cut, NAMES[:2], layers=9)
    before = {path.name: path.stat().st_mtime_ns for path in cut.iterdir()}
    made(cut, NAMES)
    assert all((cut / name).stat().st_mtime_ns == at for name, at in before.items())
    files = {path.name: path.read_bytes() for path in whole.iterdir()}
    assert files == {path.name: path.read_bytes() for path in cut.iterdir()}
    assert len(files) == len(NAMES) * len(a_context().layout.linear)


def test_an_assigned_mix_is_made_of_kept_layers_with_or_without_a_store(tmp_path: Path) -> None:
    layers = a_context().layout.linear
    mix = {
        layer: ["3-bit-g32", "4-bit-g64", "8-bit-g64", "2-bit-g32-asym"][number % 4]
        for number, layer in enumerate(layers)
    }
    text = assignment_text(mix, layers)
    params = {"assignment": text, "rounded_by": "kept", "samples": 16, "seqlen": 64}
    result = act(tmp_path / "mix", "mixed", params)
    child = read(tmp_path / "mix")
    for layer, tensor in child.stored.items():
        one = format_of(mix[layer])
        assert (tensor.bits, tensor.symmetric) == (one.bits, one.symmetric)
        assert tensor.scales.shape[1] == tensor.ints.shape[1] // one.group_size
    told = {(row["layer"], row["metric"]): row["value"] for row in result["figures"]}
    assert told[layers[2], "stored_bits"] == 8
    act(tmp_path / "again", "mixed", params)
    name = "model.safetensors"
    assert (tmp_path / "mix" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    act(tmp_path / "rtn", "mixed", {**params, "rounded_by": "rtn"})
    assert divergence(tmp_path / "mix") < divergence(tmp_path / "rtn")


def test_a_budgeted_mix_may_be_of_kept_layers(tmp_path: Path) -> None:
    params = {"average_bits": 3.75, "layer_bits": "2-3-4-8", "group_size": 32, "seqlen": 64}
    result = act(tmp_path / "kept", "mixed", {**params, "rounded_by": "kept"})
    assert 3.6 < result["weight_bits"] <= 3.75
    act(tmp_path / "rtn", "mixed", params)
    assert divergence(tmp_path / "kept") < divergence(tmp_path / "rtn")


def test_an_assignment_is_read_as_it_was_written() -> None:
    layers = [f"layer{number}" for number in range(12)]
    fine = (0, 1, 2, 7)
    chosen = {layer: "4-bit-g64" if n in fine else "3-bit" for n, layer in enumerate(layers)}
    text = assignment_text(chosen, layers)
    assert text == "3-bit=3-6,8-11 4-bit-g64=0-2,7"
    assert {layer: one.name for layer, one in assigned(text, layers).items()} == chosen


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("4-bit=0-1", "1 layers have no format, such as c"),
        ("4-bit=0-2 3-bit=1", r"layer 1 \(b\) has two formats"),
        ("4-bit=0-3", "the model's are 0-2"),
        ("4-bit=2-0", "the model's are 0-2"),
        ("4-bit=0-", "no layer's number"),
        ("5-bit=0-2", "Cannot read the format '5-bit'"),
    ],
)
def test_an_assignment_that_is_no_mix_of_the_model_is_refused(text: str, why: str) -> None:
    with pytest.raises(CallFailure, match=why):
        assigned(text, ["a", "b", "c"])
