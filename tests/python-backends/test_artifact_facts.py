"""An artifact's own facts: those of the model that was written, read from its files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any

import pytest
from random_models import write_model

from pare_backends.calls import apply
from pare_backends.calls.import_model import ImportModelRequest
from pare_backends.calls.import_model import run as import_model
from pare_backends.models import facts
from pare_backends.progress import silent_report

OF_THE_BASELINE = {
    "model_name", "source", "path", "revision", "dtype", "original_bytes", "grid", "chat_template",
    "notes", "no_gguf",
}  # fmt: skip
ARCHITECTURES = ("gpt2", "llama", "mixtral", "opt", "qwen2", "qwen3")


@cache
def model_dir(architecture: str) -> Path:
    return write_model(architecture, Path(mkdtemp(prefix=f"pare-{architecture}-")))


def rounded(source: Path, output: Path) -> dict[str, Any]:
    params = {"bits": 4, "group_size": 32, "targets": "all"}
    request = apply.ApplyRequest(
        str(source), str(output), "quantization", "rtn", params, None, 0, None
    )
    return apply.run(request, silent_report())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_packed_artifact_is_the_model_that_its_baseline_is(
    architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = model_dir(architecture)
    request = ImportModelRequest(str(source), str(tmp_path / "none"), False)
    baseline = import_model(request, silent_report())
    # What costs a pass over the weights is the baseline's alone.
    for costly in ("detect_grid", "check_finite"):
        monkeypatch.delattr(facts, costly)
    result = rounded(source, tmp_path / "out")
    own = result["model"]
    stored = own.pop("weight_bytes")
    assert sum(stored.values()) == result["formula_bytes"]
    # Packed in groups of 32: 4 bits and a scale of 16, an expert's of 32; rows that are not full
    # add words.
    assert 4.5 <= 8 * stored["linear"] / own["linear_parameters"] < 5
    assert own == {name: baseline[name] for name in baseline if name not in OF_THE_BASELINE}


def test_linear_layers_with_a_bias_are_told_from_those_without(tmp_path: Path) -> None:
    shapes = rounded(model_dir("qwen2"), tmp_path / "out")["model"]["linear_shapes"]
    biased = sorted((s["out_features"], s["count"]) for s in shapes if s.get("bias"))
    assert biased == [(32, 4), (64, 2)]  # keys and values of two layers, and queries
    plain = rounded(model_dir("llama"), tmp_path / "plain")["model"]["linear_shapes"]
    assert all("bias" not in shape for shape in plain)


@pytest.mark.parametrize(
    ("config", "kv_heads"),
    [
        ({"num_key_value_heads": 2}, 2),
        ({}, 4),
        ({"multi_query": True, "new_decoder_architecture": False, "num_kv_heads": 4}, 1),
        ({"multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 2}, 2),
        ({"multi_query": True}, 1),
    ],
)
def test_heads_of_keys_are_those_that_the_architecture_has(
    config: dict[str, Any], kv_heads: int
) -> None:
    assert facts.kv_heads_of(SimpleNamespace(**config), 4) == kv_heads
