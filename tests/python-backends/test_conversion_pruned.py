"""Pruned layers as files for other libraries, none of which leaves zeros out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from test_conversion import UP, Q, found, layers, made
from tiny_model import tiny_dir

from pare_backends.calls.conversion import convert
from pare_backends.checkpoint import BitmaskTensor, StoredTensor, read, write
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.quantization.rounding import round_matrix


def pruned(
    out: Path, rest: dict[str, StoredTensor] | None = None, dtype: str | None = None
) -> Path:
    """The tiny model with every linear layer pruned 2:4 and stored as a bitmask."""
    source = read(tiny_dir())
    if dtype is not None:
        source = replace(source, config={**source.config, "dtype": dtype})

    def halved(weights: np.ndarray) -> np.ndarray:
        fours = weights.reshape(-1, 4).copy()
        np.put_along_axis(fours, np.abs(fours).argsort(axis=1)[:, :2], 0, axis=1)
        return fours.reshape(weights.shape)

    held: dict[str, StoredTensor] = {
        name: BitmaskTensor.of(halved(source.weight(name))) for name in layers()
    }
    write(source.with_stored(held | (rest or {})), out)
    return out


@pytest.mark.parametrize("form", ["gguf", "compressed-tensors"])
def test_a_pruned_trial_is_written_with_its_zeros(form: str, tmp_path: Path) -> None:
    source = pruned(tmp_path / "source")
    request = convert.Request(form, str(source), str(tmp_path / "files"))
    told = convert.run(request, silent_report())
    assert told["notes"] == [
        "14 pruned layers are written with their zeros, as the format has no form without them: the"
        " files take what they would unpruned"
    ]
    facts = found(form, tmp_path / "files", source)
    assert facts["not_opened"] is None and facts["opened_by"]
    assert facts["logits_cosine"] > 0.9999 and facts["other_floats"] == []
    assert facts["tensor_bytes"] == facts["formula_bytes"]
    if form == "gguf":
        return
    tensors = load_file(tmp_path / "files" / "model.safetensors")
    assert (tensors[f"{UP}.weight"] == 0).mean() == 0.5
    config = json.loads((tmp_path / "files" / "config.json").read_text())
    assert "quantization_config" not in config and "bitmask" not in json.dumps(config)


def test_pruned_layers_beside_packed_ones_are_written_with_their_zeros(tmp_path: Path) -> None:
    weights = read(tiny_dir()).weight(UP)
    source = pruned(tmp_path / "source", {UP: round_matrix(UP, weights, 4, 32, True)})
    files = made("gptq", source, tmp_path / "files")
    tensors = load_file(files / "model.safetensors")
    assert (tensors[f"{Q}.weight"] == 0).mean() == 0.5 and f"{UP}.qweight" in tensors
    assert found("gptq", files, source)["other_floats"] == []


def test_a_wholly_pruned_trial_is_no_gptq(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match=r"zeros and all.*take compressed-tensors, gguf or open"):
        made("gptq", pruned(tmp_path / "source"), tmp_path / "files")


def test_pruned_float16_in_a_model_of_bfloat16_is_told_to_be_rounded(tmp_path: Path) -> None:
    source = pruned(tmp_path / "source", dtype="bfloat16")
    request = convert.Request("compressed-tensors", str(source), str(tmp_path / "files"))
    [told] = convert.run(request, silent_report())["notes"]
    assert "zeros, rounded from float16 to bfloat16, as" in told
