"""Settings of llama.cpp and OpenVINO: each in turn with what trials are timed with, its bytes, what
it does to the logits, and what cannot be had here refused while the others are measured."""

from __future__ import annotations

import os
import sys
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from runtime_fixtures import artifact, exported_graph, run_worker
from test_gguf import written
from test_llama_cpp import interpreter

from pare_backends.runtimes.openvino.input_rounding import rounds_inputs
from pare_backends.runtimes.registry import open_model

VALUES_A_TOKEN = 2 * 2 * 2 * 16
"""Keys and values of 2 layers with 2 heads of 16."""
RUNTIMES = ("llama.cpp", "openvino")
FULL = {
    "llama.cpp": {"kv_precision": "f32", "flash_attention": False},
    "openvino": {"kv_precision": "f32"},
}
"""Keys and values that nothing rounds."""
MANY = 1 + (os.cpu_count() or 1)


@pytest.fixture(scope="module")
def directory() -> Path:
    return artifact(4, 32, True)


def form_of(runtime: str, directory: Path) -> Path:
    return written(directory)[0] if runtime == "llama.cpp" else exported_graph()


def python_of(runtime: str) -> str:
    return interpreter() if runtime == "llama.cpp" else sys.executable


def measured(runtime: str, directory: Path, settings: dict[str, dict[str, Any]]) -> Any:
    """The table of a measurement."""
    asked = {
        "call": "time_caches",
        "runtime": runtime,
        "artifact_dir": str(directory),
        "form_dir": str(form_of(runtime, directory)),
        "settings": [{"name": name, "params": params} for name, params in settings.items()],
        "contexts": [48],
        "new_tokens": 16,
        "turn_tokens": 8,
        "passes": 1,
        "seed": 1,
    }
    last = run_worker(python_of(runtime), asked)[-1]
    assert last["event"] == "result", last
    return last["result"]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_bytes_follow_the_precision_of_the_cache_and_what_cannot_be_had_is_refused(
    runtime: str, directory: Path
) -> None:
    full_setting = FULL[runtime]
    table = measured(
        runtime,
        directory,
        {
            "full": full_setting,
            "halves": full_setting | {"kv_precision": "f16"},
            "alone": full_setting | {"threads": 1},
            "many": {"threads": MANY},
        },
    )
    rows = {one["setting"]: one for one in table["caches"]}
    assert set(rows) == {"halves", "alone"}
    (refused,) = table["refused"]
    assert refused["setting"] == "many"
    assert refused["reason"].startswith(f"threads is {MANY}, and a call here has ")
    # The last token that was generated has not been read.
    full = rows["halves"]["full_kept_bytes"]
    values = (48 + 16) * VALUES_A_TOKEN
    assert 4 * values <= full <= 4 * values * 1.1
    assert 0.5 * full <= rows["halves"]["kept_bytes"] <= 0.56 * full
    assert rows["alone"]["kept_bytes"] == full
    assert table["numerics"]["halves"]["kv_precision"] == "f16"
    assert table["numerics"]["full"]["kv_precision"] == "f32"
    assert min(rows["alone"]["decode_ms"], rows["alone"]["full_prefill_ms"]) > 0


def logits(runtime: str, directory: Path, **cache: Any) -> np.ndarray:
    """Of a text that is given, under a setting."""
    tokens = torch.from_numpy(np.random.default_rng(3).integers(0, 128, (1, 48)))
    form, python = str(form_of(runtime, directory)), python_of(runtime)
    model = open_model(runtime, str(directory), form, python, 2, cache=cache)
    with closing(model) if hasattr(model, "close") else nullcontext():
        assert model.numerics["kv_precision"] == cache["kv_precision"]
        found: np.ndarray = model.forward(tokens).logits.numpy()
    return found


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_texts_are_scored_as_a_setting_computes_them(runtime: str, directory: Path) -> None:
    full = logits(runtime, directory, **FULL[runtime])
    alone = logits(runtime, directory, **FULL[runtime], threads=1)
    halves = logits(runtime, directory, **FULL[runtime] | {"kv_precision": "f16"})
    assert np.abs(alone - full).max() <= 1e-4
    apart = np.abs(halves - full).max()
    assert 0 < apart < 0.05, "keys and values are rounded, a little"


def test_a_setting_of_openvino_that_is_not_in_force_is_refused(directory: Path) -> None:
    """Else its row would tell the default's figures by another name."""
    table = measured(
        "openvino",
        directory,
        {
            "full": {},
            "u8": {"kv_precision": "u8"},
            "bf16": {"inference_precision": "bf16"},
            "inputs": {"input_group": 32},
        },
    )
    rows = {one["setting"]: one for one in table["caches"]}
    assert rows["u8"]["kept_bytes"] == rows["u8"]["full_kept_bytes"] // 4
    said = {one["setting"]: one["reason"] for one in table["refused"]}
    in_bf16 = table["numerics"].get("bf16", {}).get("inference_precision") == "bf16"
    assert in_bf16 or "inference_precision is bf16, and OpenVINO computes in f32" in said["bf16"]
    assert rounds_inputs() == ("inputs" in rows)
    assert rounds_inputs() or said["inputs"] == "OpenVINO rounds no inputs on this processor"
