"""Qwen3.5 with several values a key, whose heads stand in another order in llama.cpp: kquant, files
that are converted, and blocks that would come apart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from print_kquants import floats_of, made
from runtime_fixtures import four_bit_model
from test_conversion import found as checked
from test_conversion import made as made_file
from tiny_model import act

from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.quantization.libraries.llama_quantize import FloatFile
from pare_backends.runtimes.llama_cpp.gguf_blocks import in_columns
from pare_backends.runtimes.llama_cpp.gguf_layout import GgufLayout

SHARED = ("Qwen3_5ForCausalLM", "-shared")
KNOBS = {
    "embedding_blocks": "mix", "head_blocks": "mix", "assignment": "none", "kinds_by": "mix",
    "eight_bit_share": 0.0, "rounded_by": "library", "importance": True, "samples": 4,
}  # fmt: skip


@pytest.mark.parametrize("mix", ["Q4_0", "IQ4_NL"])
def test_kquant_brings_blocks_back_to_the_models_columns(mix: str) -> None:
    """The file is proved against the artifact's own weights, and these are near the original's."""
    found = made(SHARED[0], {**KNOBS, "block_mix": mix}, SHARED[1])
    assert found["strict_kl"] < 1e-5
    assert found["minimum_cosine"] > 0.98
    assert abs(found["size_bytes"] - found["formula_bytes"]) < 20_000, "headers alone are extra"


def test_what_columns_weigh_is_told_in_the_files_order() -> None:
    layout = GgufLayout(json.loads((four_bit_model(*SHARED) / "config.json").read_text()))
    file = FloatFile(Path(), layout, "", silent_report(), frozenset(), {})
    weigh = np.arange(192, dtype=np.float32)
    told = file.in_file({"model.layers.0.linear_attn.out_proj": weigh, "model.x": weigh})
    np.testing.assert_array_equal(told["model.x"], weigh)
    own = told["model.layers.0.linear_attn.out_proj"].reshape(6, 32)[:, 0] / 32
    np.testing.assert_array_equal(own, [0, 3, 1, 4, 2, 5])


def test_a_converted_file_is_found_to_be_the_artifacts(tmp_path: Path) -> None:
    source = floats_of(*SHARED)
    params = {"bits": 4, "group_size": 32, "symmetric": True}
    act(tmp_path / "artifact", "rtn", params, parent=source)
    made_file("gguf", tmp_path / "artifact", tmp_path / "files")
    said = checked("gguf", tmp_path / "files", tmp_path / "artifact")
    assert said["unreadable"] is None
    assert said["other_floats"] == []
    assert all(row["problem"] is None and row["cosine"] > 0.9999 for row in said["layers"])


def test_blocks_move_whole_or_not_at_all() -> None:
    rng = np.random.default_rng(0)
    for kind, width in (("Q8_0", 32), ("Q4_0", 64), ("Q4_K", 256)):
        block = BLOCK_KINDS[kind]
        heads = np.array([0, 2, 4, 1, 3, 5])
        order = (heads[:, None] * width + np.arange(width)).reshape(-1)
        blocks = rng.integers(0, 256, (3, len(order) // block.weights * block.octets)).astype(
            np.uint8
        )
        moved = in_columns("layer", kind, blocks, order)
        assert not np.array_equal(moved, blocks)
        np.testing.assert_array_equal(in_columns("layer", kind, moved, np.argsort(order)), blocks)
        each = blocks.reshape(3, 6, -1)
        np.testing.assert_array_equal(moved.reshape(3, 6, -1), each[:, heads])
    order = np.roll(np.arange(512), 128)
    blocks = np.zeros((1, 2 * BLOCK_KINDS["Q4_K"].octets), np.uint8)
    with pytest.raises(CallFailure, match="which tears blocks of 256"):
        in_columns("layer", "Q4_K", blocks, order)
    assert in_columns("layer", "Q4_K", blocks, None) is blocks
