"""`autoround`: auto-round's own integers, negative scales and zero points included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_model import act, tiny_dir

from pare_backends.calls.verify import compare
from pare_backends.checkpoint import read
from pare_backends.models.layout import layout_of

FEW = {"iters": 2, "samples": 4, "seqlen": 32}


@pytest.mark.parametrize("symmetric", [True, False])
def test_autoround_writes_its_own_integers(tmp_path: Path, symmetric: bool) -> None:
    params = {"bits": 3, "group_size": 32, "symmetric": symmetric, **FEW}
    result = act(tmp_path / "child", "autoround", params)
    child, source = read(tmp_path / "child"), read(tiny_dir())
    assert result["stored_layers"] == len(child.stored) == 14
    parts, _ = compare(child, source, layout_of(tiny_dir()), _silent())
    cosines = parts["linear"].cosines
    assert min(cosines.values()) > 0.9
    for tensor in child.stored.values():
        assert tensor.symmetric == symmetric
        # The full range is used: that is what the sign of a symmetric scale is for.
        assert tensor.ints.min() == -4
        assert tensor.ints.max() == 3
    if symmetric:
        scales = [tensor.scales for tensor in child.stored.values()]
        assert (np.concatenate([s.reshape(-1) for s in scales]) < 0).any()


def _silent() -> object:
    from pare_backends.progress import silent_report

    return silent_report()
