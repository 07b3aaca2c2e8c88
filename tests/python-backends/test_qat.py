"""`qat`: trained as it is stored, nearer than rounding, and a kill costs nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from test_lora import Killed, kill_at
from tiny_model import act, action, calibration, tiny_dir

from pare_backends.calls import apply
from pare_backends.checkpoint import load_dequantized, read
from pare_backends.failures import CallFailure
from pare_backends.models.tiny_text import sentences
from pare_backends.progress import Report, silent_report
from pare_backends.quantization.correction.straight_through import grid_of
from pare_backends.quantization.qat import Params
from pare_backends.quantization.rounding import round_matrix

GRID = {"bits": 2, "group_size": 32}
STOPPED_AT = 13


def qat(
    out: Path,
    parent: Path | None = None,
    report: Report | None = None,
    work_dir: Path | None = None,
    seed: int = 1,
    **params: Any,
) -> dict[str, Any]:
    """The call's result; the child lies in `out`."""
    asked = {**GRID, "lr": 2e-3, "steps": 24, "batch": 2, "tokens": 64, "held_out": 0, **params}
    request = action(
        out,
        "quantization",
        "qat",
        asked,
        parent,
        seed=seed,
        training_path=calibration(),
        work_dir=work_dir,
    )
    return apply.run(request, report or silent_report())


def divergence(directory: Path) -> float:
    """Mean KL divergence from the source's next-word distribution, on text that nothing was trained
    on."""
    source, tokenizer = load_dequantized(tiny_dir())
    child = load_dequantized(directory)[0]
    ids = tokenizer(" ".join(sentences(200, 77)), verbose=False).input_ids[:1024]
    windows = torch.tensor(ids).reshape(-1, 64)
    with torch.inference_mode():
        truth, guess = source(windows).logits.log_softmax(-1), child(windows).logits.log_softmax(-1)
    return float((truth.exp() * (truth - guess)).sum(-1).mean())


def bytes_of(directory: Path) -> bytes:
    return (directory / "model.safetensors").read_bytes()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_training_brings_it_nearer_than_rounding(seed: int, tmp_path: Path) -> None:
    act(tmp_path / "rtn", "rtn", {**GRID, "clip": True})
    done = qat(tmp_path / "qat", seed=seed, steps=60)
    kl = {name: divergence(tmp_path / name) for name in ("qat", "rtn")}
    assert kl["qat"] < 0.5 * kl["rtn"]
    assert done["stored_layers"] == 14
    rounded, trained = (formula(tmp_path / name) for name in ("rtn", "qat"))
    assert rounded == trained, "it is stored as rtn's is"


def formula(directory: Path) -> int:
    return sum(tensor.formula_bytes() for tensor in read(directory).stored.values())


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("group", [32, -1])
def test_before_a_step_it_is_plain_rounding(clip: bool, symmetric: bool, group: int) -> None:
    weight = read(tiny_dir()).weight("model.layers.1.mlp.down_proj")
    grid = grid_of("w", weight, 3, group, symmetric, clip, False, None)
    made = grid.tensor(torch.from_numpy(weight))
    plain = round_matrix("w", weight, 3, group, symmetric, clip=clip)
    assert (made.scales == plain.scales).mean() > 0.999
    assert (made.ints == plain.ints).mean() > 0.9999
    assert grid.rounded(torch.from_numpy(weight)).numpy() == pytest.approx(made.weight(), abs=1e-6)


def test_the_gradient_goes_straight_through() -> None:
    weight = torch.randn(4, 32, requires_grad=True)
    grid = grid_of("w", weight.detach().numpy(), 3, 32, True, False, False, None)
    factor = torch.randn(4, 32)
    (grid.rounded(weight) * factor).sum().backward()
    assert weight.grad is not None
    assert torch.equal(weight.grad, factor)


def test_a_killed_training_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    qat(tmp_path / "whole")
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(Killed):
        qat(tmp_path / "killed", report=kill_at(STOPPED_AT), work_dir=work)
    taken: list[int] = []

    def emit(event: dict[str, Any]) -> None:
        if event["event"] == "progress" and event["label"] == "train":
            taken.append(event["done"])

    qat(tmp_path / "done", report=Report(emit), work_dir=work)
    assert taken == list(range(11, 25)), "steps before the saved one are not taken"
    assert bytes_of(tmp_path / "done") == bytes_of(tmp_path / "whole")


def test_a_tied_embedding_is_trained_and_stored_once(tmp_path: Path) -> None:
    grid = {"bits": 3, "group_size": 32}
    act(tmp_path / "rtn", "rtn", {**grid, "clip": True, "targets": "all"})
    done = qat(tmp_path / "qat", targets="all", steps=60, lr=1e-3, **grid)
    assert done["stored_layers"] == 15
    assert (
        done["formula_bytes"]
        == act(tmp_path / "again", "rtn", {**grid, "clip": True, "targets": "all"})["formula_bytes"]
    )
    assert divergence(tmp_path / "qat") < 0.8 * divergence(tmp_path / "rtn")


def test_what_pruning_made_zero_stays_zero(tmp_path: Path) -> None:
    act(tmp_path / "cut", "magnitude", {"sparsity": 0.5}, agent="pruning")
    qat(tmp_path / "qat", parent=tmp_path / "cut", bits=4)
    cut, made = read(tmp_path / "cut"), read(tmp_path / "qat")
    for layer in made.stored:
        assert (made.weight(layer)[cut.weight(layer) == 0] == 0).all(), layer


def test_held_out_windows_say_when_to_stop(tmp_path: Path) -> None:
    done = qat(tmp_path / "far", lr=1e-2, steps=60, held_out=4, bits=8)
    (note,) = [n for n in done["notes"] if n.startswith("QAT took")]
    assert "held out" in note
    assert divergence(tmp_path / "far") < 0.01, "the best look counts, not the last step"


def test_the_texts_own_tokens_may_be_learnt(tmp_path: Path) -> None:
    qat(tmp_path / "kl")
    qat(tmp_path / "text", qat_loss="next_token")
    assert bytes_of(tmp_path / "kl") != bytes_of(tmp_path / "text")


def test_a_rounded_parent_is_refused(tmp_path: Path) -> None:
    act(tmp_path / "rtn", "rtn", GRID)
    with pytest.raises(CallFailure, match="already in the parent"):
        qat(tmp_path / "twice", parent=tmp_path / "rtn")


KNOBS: dict[str, Any] = {
    **{"bits": 3, "group_size": 64, "symmetric": False, "clip": False, "targets": "all"},
    **{"qat_loss": "next_token", "lr": 1e-3, "steps": 30, "epochs": 1, "batch": 1},
    **{"schedule": "constant", "warmup": 0.4, "tokens": 32, "held_out": 4},
}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("usual") / "model"
    qat(out, tokens=16, steps=20)
    return out


@pytest.mark.parametrize("knob", KNOBS)
def test_every_knob_reaches_the_weights(knob: str, usual: Path, tmp_path: Path) -> None:
    qat(tmp_path / "other", **{"tokens": 16, "steps": 20, knob: KNOBS[knob]})
    assert bytes_of(tmp_path / "other") != bytes_of(usual), f"{knob} is unread"


def test_every_knob_is_tried() -> None:
    assert set(KNOBS) == {field.name for field in dataclasses.fields(Params)}
