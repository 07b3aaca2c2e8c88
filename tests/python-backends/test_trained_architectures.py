"""Training of architectures other than Llama's: what is written is what was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_architectures import model_dir
from test_lora import logits
from test_qlora import act

from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.failures import CallFailure
from pare_backends.finetuning import full, lora
from pare_backends.training import Trained

SHORT = {"steps": 20, "tokens": 16, "held_out": 0}
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("lora", {**SHORT, "lr": 5e-3, "rank": 4}),
    ("lora", {**SHORT, "lr": 5e-3, "rank": 4, "dora": True}),
    ("full", {**SHORT, "lr": 1e-3}),
]


@pytest.mark.parametrize("architecture", ["bloom", "falcon", "gpt2", "gpt_neox", "opt", "phi3"])
@pytest.mark.parametrize(("method", "params"), METHODS, ids=["lora", "dora", "full"])
def test_what_is_written_is_what_was_trained(
    architecture: str,
    method: str,
    params: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Conv1D, fused and biased projections, tied and untied heads, names that files spell in
    another way."""
    module = {"lora": lora, "full": full}[method]
    tune, seen = module.tune, []

    def then_look(name: str, model: Any, given: Any, context: Any) -> Trained:
        done = tune(name, model, given, context)
        seen.append(logits(model))
        return done

    monkeypatch.setattr(module, "tune", then_look)
    parent = model_dir(architecture)
    act(tmp_path / "model", method, parent, **params)
    written = logits(load_dequantized(tmp_path / "model")[0])
    changed = np.abs(seen[0] - logits(load_dequantized(parent)[0])).max()
    assert changed > 0.05, "it has learnt nothing"
    assert np.abs(written - seen[0]).max() < 0.05 * changed


@pytest.mark.parametrize("method", ["lora", "qlora", "full"])
def test_a_model_with_experts_is_refused_in_one_sentence(method: str, tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match="they are a mixture's") as refused:
        act(tmp_path / "model", method, model_dir("mixtral"), **SHORT)
    assert refused.value.kind == "invalid"


@pytest.mark.parametrize("architecture", ["mixtral", "qwen3_moe"])
@pytest.mark.parametrize("merge", [True, False])
def test_the_attention_of_a_mixture_takes_factors(
    architecture: str, merge: bool, tmp_path: Path
) -> None:
    parent = model_dir(architecture)
    params = {**SHORT, "lr": 5e-3, "rank": 4, "targets": "attention", "merge": merge}
    act(tmp_path / "model", "lora", parent, **params)
    before, after = read(parent), read(tmp_path / "model")
    changed = {
        name.split(".")[-2]
        for name in before.floats
        if not np.array_equal(after.kept_floats(name), before.kept_floats(name))
    }
    assert changed == ({"q_proj", "k_proj", "v_proj", "o_proj"} if merge else set())
    apart = logits(load_dequantized(tmp_path / "model")[0]) - logits(load_dequantized(parent)[0])
    assert np.abs(apart).max() > 0.05, "it has learnt nothing"
