"""Pruning in steps: zeros of the step before stay, and its share counts in the next one's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_model import act, tiny_dir

from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.models.layout import layout_of

METHODS = ("magnitude", "wanda", "sparsegpt")


def prune(out: Path, method: str, parent: Path | None, sparsity: float, **params: Any) -> Path:
    read_of = {} if method == "magnitude" else {"samples": 8, "tokens": 48}
    act(out, method, {"sparsity": sparsity, **read_of, **params}, parent, agent="pruning")
    return out


def zeros(directory: Path) -> dict[str, np.ndarray]:
    checkpoint = read(directory)
    return {layer: checkpoint.weight(layer) == 0 for layer in layout_of(tiny_dir()).linear}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stored_as", ["bitmask", "dense"])
def test_a_further_step_keeps_the_zeros_and_reaches_its_share(
    method: str, stored_as: str, tmp_path: Path
) -> None:
    first = prune(tmp_path / "first", "magnitude", None, 0.3, stored_as=stored_as)
    second = prune(tmp_path / "second", method, first, 0.5)
    before, after = zeros(first), zeros(second)
    for layer, gone in before.items():
        assert after[layer][gone].all(), layer
        assert after[layer].mean() == pytest.approx(0.5, abs=0.02), layer


@pytest.mark.parametrize("method", METHODS)
def test_a_further_step_that_would_make_none_is_refused(method: str, tmp_path: Path) -> None:
    first = prune(tmp_path / "first", "magnitude", None, 0.5)
    with pytest.raises(
        CallFailure, match=r"to a sparsity of 0\.3: 0\.5 of the weights are zero alr"
    ):
        prune(tmp_path / "second", method, first, 0.3)
