"""Packed weights have the declared width: short rows take as many words at other widths."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pare_backends.checkpoint import Checkpoint, GridTensor, read, write
from pare_backends.failures import CallFailure
from pare_backends.runtimes.stored_weights import StoredWeights

ROWS = 6


def tensor(columns: int, bits: int, group_size: int, symmetric: bool) -> GridTensor:
    random = np.random.default_rng(columns * bits)
    top = 2 ** (bits - 1)
    groups = 1 if group_size == -1 else columns // group_size
    ints = random.integers(-top, top, (ROWS, columns)).astype(np.int8)
    scales = random.uniform(0.01, 0.1, (ROWS, groups)).astype(np.float16).astype(np.float32)
    zeros = None if symmetric else random.integers(-top, top, (ROWS, groups)).astype(np.int8)
    return GridTensor(ints, scales, zeros, bits, group_size)


def written(out: Path, quantized: GridTensor) -> Path:
    write(Checkpoint({"model_type": "llama"}, (), {"layer": quantized}, {}), out)
    return out


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("group_size", [-1, 8])
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("columns", [16, 24, 40])
def test_short_rows_are_read_as_they_were_written(
    tmp_path: Path, columns: int, bits: int, group_size: int, symmetric: bool
) -> None:
    original = tensor(columns, bits, group_size, symmetric)
    folder = written(tmp_path / "packed", original)
    found = read(folder).stored["layer"]
    assert (found.bits, found.group_size) == (bits, group_size)
    assert (found.ints == original.ints).all()
    assert np.array_equal(found.dequantize(), original.dequantize())
    constant = StoredWeights(str(folder)).packed("layer.weight")
    assert constant.bits == bits
    assert np.array_equal(constant.dequantize(), original.dequantize())


def test_bits_that_do_not_fit_the_file_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "packed", tensor(24, 4, 8, True))
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["quantization_config"]["config_groups"]["group_0"]["weights"]["num_bits"] = 8
    path.write_text(json.dumps(config))
    with pytest.raises(CallFailure, match="24 weights at 8 bits takes 6 words, the file has 3"):
        read(folder)
    del config["quantization_config"]
    path.write_text(json.dumps(config))
    with pytest.raises(CallFailure, match=r"config\.json declares no bits"):
        StoredWeights(str(folder)).packed("layer.weight")
