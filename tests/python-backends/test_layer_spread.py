"""How zeros are spread over blocks: by outliers, or by what pruning each block alone costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from test_calibrated_pruning import DATA, inputs_of, linear, prune, told, windows
from tiny_model import tiny_dir

from pare_backends.checkpoint import load_dequantized, read
from pare_backends.models.layout import layout_of
from pare_backends.pruning.block_pass import first_tensor, moved
from pare_backends.pruning.outliers import MOST_APART, spread_over_blocks


@pytest.mark.parametrize(
    ("method", "spread", "figure"),
    [
        ("wanda", "outliers", "outlier_ratio"),
        ("wanda", "sensitivity", "error_alone"),
        ("sparsegpt", "sensitivity", "error_alone"),
    ],
)
def test_zeros_are_spread_by_a_measure_and_their_mean_is_kept(
    method: str, spread: str, figure: str, tmp_path: Path
) -> None:
    result = prune(tmp_path / "child", method, sparsity=0.4, layer_sparsity=spread)
    ratios = told(result, figure)
    child = read(tmp_path / "child")
    zeros = {
        block: np.concatenate(
            [
                (child.weight(n) == 0).ravel()
                for n in linear(tiny_dir())
                if n.startswith(f"{block}.")
            ]
        )
        for block in ratios
        if block is not None
    }
    first, second = sorted(zeros, key=lambda block: ratios[block])
    assert zeros[first].mean() == pytest.approx(0.4 + MOST_APART, abs=0.01)
    assert zeros[second].mean() == pytest.approx(0.4 - MOST_APART, abs=0.01)
    assert np.concatenate(list(zeros.values())).mean() == pytest.approx(0.4, abs=0.006)


def test_the_sensitivity_of_a_block_is_its_error_where_it_alone_is_pruned(tmp_path: Path) -> None:
    """By another path: the first block of the uniform run meets the same inputs, the second one's
    error is that of a model whose first block is whole."""
    result = prune(tmp_path / "spread", "wanda", sparsity=0.4, layer_sparsity="sensitivity")
    alone = told(result, "error_alone")
    uniform = told(prune(tmp_path / "uniform", "wanda", sparsity=0.4), "output_error")
    assert alone["model.layers.0"] == pytest.approx(uniform["model.layers.0"], rel=1e-2)
    model, _ = load_dequantized(tiny_dir())
    outputs: list[torch.Tensor] = []
    block = model.model.layers[1]
    block.register_forward_hook(lambda _, __, out: outputs.append(first_tensor(out)))
    with torch.no_grad():
        model(input_ids=windows(0, DATA["samples"]))
        given = inputs_of(tiny_dir(), windows(0, DATA["samples"]))
        for layer, module in layout_of(tiny_dir()).modules.items():
            if module.startswith("model.layers.1."):
                weight = model.get_submodule(module).weight
                scores = weight.abs() * given[layer].norm(dim=0)
                count = round(0.4 * weight.shape[1])
                weight.scatter_(1, scores.argsort(dim=1)[:, :count], 0.0)
        model(input_ids=windows(0, DATA["samples"]))
    assert alone["model.layers.1"] == pytest.approx(moved(*outputs), rel=1e-2)


def test_the_spread_keeps_the_mean_of_blocks_of_unequal_size() -> None:
    shares = spread_over_blocks({"a": 0.1, "b": 0.3, "c": 0.2}, {"a": 1, "b": 2, "c": 5}, 0.5)
    assert shares["a"] > shares["c"] > shares["b"]
    assert (shares["a"] + 2 * shares["b"] + 5 * shares["c"]) / 8 == pytest.approx(0.5)
    assert shares["a"] - shares["b"] == pytest.approx(2 * MOST_APART)
    assert spread_over_blocks({"a": 0.2, "b": 0.2}, {"a": 1, "b": 2}, 0.3) == {"a": 0.3, "b": 0.3}
