"""What a library is given is what was recorded: no knob is cut, replaced or left unread."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_model import WINDOW_TOKENS, WINDOWS, act

from pare_backends.calls.describe import method_files, method_params
from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.quantization import int8

SMALL: dict[str, dict[str, Any]] = {
    "rtn": {"bits": 3, "group_size": 32},
    "int8": {"activation_group_size": 32},
    "nf4": {},
    "hqq": {"bits": 3, "group_size": 32, "iters": 5},
    "fp": {"float_format": "fp8_e4m3"},
    "gptq": {"bits": 3, "group_size": 32, "samples": 4},
    "awq": {"bits": 3, "group_size": 32, "samples": 4},
    "autoround": {"bits": 3, "group_size": 32, "iters": 2, "samples": 4, "seqlen": 32},
    "smoothquant": {
        **{"weight_scale": "per_group", "group_size": 32},
        **{"activation_group_size": 32, "samples": 4},
    },
    "fisher_clip": {"bits": 3, "group_size": 32, "samples": 4},
    # A budget between two formats, so that which layer gets which hangs on what each is scored.
    "mixed": {
        **{"average_bits": 5.0, "group_size": 32, "samples": 2, "seqlen": 32},
        "rounded_by": "gptq",
    },
}
OTHERS: list[tuple[str, str, Any]] = [
    *(("rtn", knob, value) for knob, value in [("bits", 4), ("group_size", 64), ("clip", True)]),
    ("rtn", "symmetric", False),
    ("rtn", "targets", "all"),
    ("int8", "activation_group_size", 64),
    ("int8", "targets", "all"),
    ("smoothquant", "targets", "all"),
    *(("nf4", knob, value) for knob, value in [("quant_type", "fp4"), ("block_size", 128)]),
    *(("nf4", knob, value) for knob, value in [("double_quant", True), ("targets", "all")]),
    ("fp", "float_format", "mxfp4"),
    ("fp", "fp8_scale", "per_tensor"),
    ("fp", "targets", "all"),
    *(("hqq", knob, value) for knob, value in [("bits", 4), ("group_size", 64), ("iters", 1)]),
    ("hqq", "targets", "all"),
    *(("gptq", knob, value) for knob, value in [("bits", 4), ("group_size", 64), ("clip", False)]),
    ("gptq", "symmetric", False),
    ("gptq", "dampening", 0.2),
    ("gptq", "actorder", "none"),
    ("gptq", "samples", WINDOWS),
    ("gptq", "targets", "all"),
    *(("awq", knob, value) for knob, value in [("bits", 4), ("group_size", 64), ("clip", False)]),
    ("awq", "symmetric", False),
    ("awq", "search_steps", 3),
    ("awq", "samples", WINDOWS),
    ("awq", "targets", "all"),
    ("smoothquant", "smoothing", 0.8),
    ("smoothquant", "weight_scale", "per_channel"),
    ("smoothquant", "group_size", 64),
    ("smoothquant", "activation_scheme", "static"),
    ("smoothquant", "activation_group_size", 64),
    ("smoothquant", "samples", WINDOWS),
    *(("fisher_clip", knob, value) for knob, value in [("bits", 4), ("group_size", 64)]),
    ("fisher_clip", "symmetric", False),
    ("fisher_clip", "samples", WINDOWS),
    ("fisher_clip", "search_steps", 4),
    ("fisher_clip", "targets", "all"),
    *(("autoround", knob, value) for knob, value in [("bits", 4), ("group_size", 64)]),
    ("autoround", "symmetric", False),
    ("autoround", "iters", 4),
    ("autoround", "samples", WINDOWS),
    ("autoround", "lr", 0.02),
    ("autoround", "seqlen", WINDOW_TOKENS),
    *(("mixed", knob, value) for knob, value in [("average_bits", 4.2), ("group_size", 64)]),
    ("mixed", "layer_bits", "2-3-4"),
    ("mixed", "symmetric", False),
    ("mixed", "scored_by", "reconstruction"),
    ("mixed", "rounded_by", "rtn"),
    ("mixed", "fused_alike", True),
    ("mixed", "assignment", "4-bit-g32=0-6 3-bit-g32=7-13"),
    ("mixed", "samples", WINDOWS),
    ("mixed", "seqlen", WINDOW_TOKENS),
]

ELSEWHERE = ("eora", "kquant", "qat")
"""Methods of text to train on, of an original, of a program beside: their own tests try their
knobs."""


def written(out: Path, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What the artifact holds: each quantized layer's weights and the inputs' groups."""
    result = act(out, method, params)
    child = read(out)
    layers = {name: tensor.weight() for name, tensor in child.stored.items()}
    return {"layers": layers, "activations": (out / "config.json").read_text(), "result": result}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("usual")
    return {method: written(folder / method, method, params) for method, params in SMALL.items()}


@pytest.mark.parametrize(("method", "knob", "value"), OTHERS)
def test_every_knob_reaches_the_weights(
    method: str, knob: str, value: Any, usual: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    other = written(tmp_path / "other", method, {**SMALL[method], knob: value})
    before, after = usual[method]["layers"], other["layers"]
    same = before.keys() == after.keys() and all(
        np.array_equal(before[name], after[name]) for name in before
    )
    assert not (same and usual[method]["activations"] == other["activations"]), f"{knob} is unread"


@pytest.mark.parametrize("clip", [True, False])
def test_the_clip_of_int8_reaches_the_rounding(
    clip: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 8 bits no smaller range is better for the tiny model's rows: its weights cannot tell."""
    seen = set()

    def spy(*args: Any, **named: Any) -> Any:
        seen.add(named["clip"])
        return quantize(*args, **named)

    quantize = int8.round_matrix
    monkeypatch.setattr(int8, "round_matrix", spy)
    act(tmp_path / "child", "int8", {**SMALL["int8"], "clip": clip})
    assert seen == {clip}


def test_every_knob_is_tried() -> None:
    tried = {(method, knob) for method, knob, _ in OTHERS} | {("int8", "clip")}
    known = {
        (method, field.name)
        for agent, method in method_files()
        if agent == "quantization" and method not in ELSEWHERE
        for field in dataclasses.fields(method_params(agent, method))
    }
    assert tried == known


@pytest.mark.parametrize("method", ["gptq", "autoround"])
def test_more_windows_than_there_are_are_refused_and_none_is_cut(
    method: str, tmp_path: Path
) -> None:
    params = {**SMALL[method], "samples": WINDOWS + 1}
    with pytest.raises(CallFailure, match=f"the study has {WINDOWS} windows") as caught:
        act(tmp_path / "child", method, params)
    assert caught.value.kind == "invalid"


def test_more_tokens_than_a_window_has_are_refused(tmp_path: Path) -> None:
    params = {**SMALL["autoround"], "seqlen": WINDOW_TOKENS + 1}
    with pytest.raises(CallFailure, match=f"windows of {WINDOW_TOKENS} tokens"):
        act(tmp_path / "child", "autoround", params)
