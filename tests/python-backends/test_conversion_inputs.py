"""Conversions of trials that round inputs as they run: weights and rounding are told apart."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runtime_fixtures import worker_environment
from test_conversion import found, made
from test_kept_dtype import beyond_half, rounded
from test_plain_load import redeclared
from tiny_model import act, tiny_dir

from pare_backends.checkpoint import load


def test_the_formats_are_known_where_gguf_is_not_installed() -> None:
    """As in the environment that writes OpenVINO folders."""
    code = (
        "import sys; sys.modules['gguf'] = None;"
        "from pare_backends.calls.conversion import convert, check_conversion"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=worker_environment())


@pytest.mark.parametrize(("dtype", "fails"), [("bfloat16", False), ("float16", True)])
def test_files_are_loaded_in_their_own_type_too(tmp_path: Path, dtype: str, fails: bool) -> None:
    source = redeclared(rounded(beyond_half(tmp_path), tmp_path / "artifact"), dtype)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(tiny_dir() / name, source / name)
    form = "compressed-tensors"
    facts = found(form, made(form, source, tmp_path / "files"), source)
    assert facts["not_opened"] is None and facts["logits_cosine"] > 0.9999
    said = "in float16 its logits are not finite" if fails else None
    assert facts["plain_problem"] == said


@pytest.mark.parametrize("group", [-1, 32])
def test_weights_are_compared_with_inputs_as_they_are(tmp_path: Path, group: int) -> None:
    """What rounding inputs changes is told beside it, and is nothing where both do it alike."""
    source = tmp_path / "artifact"
    act(source, "int8", {"activation_group_size": group})
    facts = found("compressed-tensors", made("compressed-tensors", source, tmp_path / "f"), source)
    assert facts["not_opened"] is None
    assert facts["logits_cosine"] > 0.9999999
    # Sums of float32 squares alone leave 1e-7, by the processor; rounded inputs 1e-5.
    assert all(row["opened_cosine"] > 0.999999 for row in facts["layers"])
    assert 0 <= facts["rounded_kl"] < 1e-5 and facts["rounded_cosine"] > 0.9999


def test_another_rounding_of_inputs_is_a_figure_and_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "artifact"
    act(source, "int8", {})
    files = made("compressed-tensors", source, tmp_path / "files")
    monkeypatch.setattr(load, "HALF_RANGE", 16)
    facts = found("compressed-tensors", files, source)
    assert facts["logits_cosine"] > 0.9999999
    assert facts["rounded_kl"] > 1e-5 and facts["rounded_cosine"] < 0.9999
