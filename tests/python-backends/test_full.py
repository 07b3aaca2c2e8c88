"""Full fine-tuning: every weight is trained, zeros stay, too large a model is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_lora import PARAMS, logits
from test_qlora import act
from tiny_model import tiny_dir

from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.failures import CallFailure
from pare_backends.finetuning import full

FULL = {name: PARAMS[name] for name in ("steps", "tokens", "held_out")} | {"lr": 1e-3}


def test_every_tensor_is_trained_and_written(tmp_path: Path) -> None:
    done = act(tmp_path / "model", "full", **FULL)
    parent, child = read(tiny_dir()), read(tmp_path / "model")
    assert set(child.floats) == set(parent.floats)
    for name in parent.floats:
        assert (child.floats[name] != parent.floats[name].astype(np.float16)).any(), name
    (note,) = [n for n in done["notes"] if n.startswith("Full fine-tuning took")]
    assert "held out" not in note
    tuned = logits(load_dequantized(tmp_path / "model")[0])
    assert np.abs(tuned - logits(load_dequantized(tiny_dir())[0])).max() > 0.1


def test_zeros_of_a_pruned_model_stay(tmp_path: Path) -> None:
    act(tmp_path / "pruned", "magnitude", sparsity=0.5)
    act(tmp_path / "tuned", "full", tmp_path / "pruned", **FULL)
    before, after = read(tmp_path / "pruned"), read(tmp_path / "tuned")
    assert before.stored.keys() == after.stored.keys()
    for layer, tensor in before.stored.items():
        was, now = tensor.weight(), after.weight(layer)
        assert not now[was == 0].any(), layer
        assert (now != was).any(), layer


def test_a_rounded_parent_is_refused(tmp_path: Path) -> None:
    act(tmp_path / "rounded", "rtn", bits=8, group_size=32)
    with pytest.raises(CallFailure, match="it is quantized already") as refused:
        act(tmp_path / "tuned", "full", tmp_path / "rounded", **FULL)
    assert refused.value.kind == "invalid"


def test_a_large_model_is_sent_to_lora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full, "MOST_PARAMETERS", 1000)
    with pytest.raises(CallFailure, match="full fine-tuning takes at most 1,000") as refused:
        act(tmp_path / "model", "full", **FULL)
    assert refused.value.hint == "Take lora, which trains a few factors beside them"
