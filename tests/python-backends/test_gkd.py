"""Distillation on what the student writes: trl's own arithmetic, zeros, resume, who is refused."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distillation_fixtures import (
    Killed,
    act,
    figures,
    held_out,
    kl_to_original,
    narrowed,
    request,
    teach,
)
from tiny_model import require_zeros, tiny_copy, tiny_dir

from pare_backends.calls import apply
from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.distillation.gkd import IGNORED, Lesson, Params, Writing, library
from pare_backends.failures import CallFailure
from pare_backends.progress import Report, silent_report

TAUGHT = {"lr": 1e-3, "steps": 30, "tokens": 32, "batch": 2}
WRITES = {"prefix_tokens": 8, "max_new_tokens": 12}
WEIGHTS = "model.safetensors"

gkd = functools.partial(teach, "gkd", {**TAUGHT, **WRITES})


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return narrowed(tmp_path_factory.mktemp("narrow") / "model")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory, narrow: Path) -> tuple[Path, dict[str, Any]]:
    """A model that half of the steps taught by what it wrote, and what was said of it."""
    out = tmp_path_factory.mktemp("taught") / "model"
    return out, gkd(out, narrow)


def test_a_cut_model_comes_nearer_by_what_it_writes_itself(
    narrow: Path, taught: tuple[Path, dict[str, Any]]
) -> None:
    out, done = taught
    before, after = kl_to_original(narrow), kl_to_original(out)
    assert after < 0.7 * before, f"{before:.3f} nats before, {after:.3f} after"
    found = figures(done)
    assert found["last_kl"] < found["first_kl"]
    (note,) = [note for note in done["notes"] if "had written itself" in note]
    assert f"{found['tokens_written']:.0f} tokens after prompts of 8" in note
    # Two windows a step of at most 12 tokens, in about half of 30 steps.
    assert 0 < found["tokens_written"] <= 30 * 2 * 12


def test_the_students_own_text_alone_teaches_too(tmp_path: Path, narrow: Path) -> None:
    done = gkd(tmp_path / "model", narrow, on_policy=1.0, jsd_beta=1.0)
    assert kl_to_original(tmp_path / "model") < 0.8 * kl_to_original(narrow)
    assert "In 30 of them it read what it had written itself" in " ".join(done["notes"])
    done = gkd(tmp_path / "text", narrow, on_policy=0.0, jsd_beta=0.0)
    assert kl_to_original(tmp_path / "text") < 0.7 * kl_to_original(narrow)
    assert figures(done)["tokens_written"] == 0


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_the_loss_is_that_of_trls_trainer(narrow: Path, beta: float) -> None:
    """Its `compute_loss` on the very batch, without the trainer around it."""
    import torch

    teacher, student = (load_dequantized(path)[0] for path in (tiny_dir(), narrow))
    trainer = object.__new__(library())
    trainer.teacher_model, trainer.beta = teacher, beta
    writing = Writing(Params(on_policy=1.0, **WRITES), None, None)
    batch = held_out()[:2]
    for kind in (None, writing):
        torch.manual_seed(5)
        loss, further = Lesson(teacher, beta, kind)(student, batch, [0, 1])
        torch.manual_seed(5)
        if kind is None:
            ids, mask, labels = batch, torch.ones_like(batch), batch
        else:
            assert kind.due()
            ids, mask, labels = kind.write(student, batch)
        inputs = {"input_ids": ids, "attention_mask": mask, "labels": labels}
        theirs = trainer.compute_loss(student, inputs)
        assert float(loss.detach()) == pytest.approx(float(theirs.detach()), rel=1e-5)
        assert (further["tokens_written"] > 0) == (kind is not None)


def test_the_student_goes_on_from_the_windows_beginning_until_it_ends(narrow: Path) -> None:
    import torch

    student = load_dequantized(narrow)[0]
    batch = held_out()[:4]
    ids, mask, labels = Writing(Params(**WRITES), None, None).write(student, batch)
    assert ids.shape == mask.shape == labels.shape == (4, 8 + 12)
    assert torch.equal(ids[:, :8], batch[:, :8]) and bool((labels[:, :8] == IGNORED).all())
    assert torch.equal(labels[:, 8:], ids[:, 8:]) and bool(mask.all())
    assert student.training, "training goes on after the writing"
    # Any of half of all tokens ends a text here: nothing counts behind it.
    ends = list(range(student.config.vocab_size // 2))
    ids, mask, labels = Writing(Params(**WRITES), None, ends).write(student, batch)
    for row, own, counted in zip(ids[:, 8:], mask[:, 8:], labels[:, 8:], strict=True):
        last = next((at for at, token in enumerate(row) if int(token) in ends), len(row) - 1)
        assert own.tolist() == [int(at <= last) for at in range(len(row))]
        assert torch.equal(counted != IGNORED, own.bool())


def test_a_student_that_is_the_teacher_does_not_move(tmp_path: Path) -> None:
    gkd(tmp_path / "model", tiny_dir(), held_out=0)
    parent, child = read(tiny_dir()), read(tmp_path / "model")
    for name in parent.floats:
        assert np.array_equal(child.floats[name], parent.floats[name].astype(np.float16)), name


@pytest.mark.parametrize("weights", ["all", "factors"])
def test_what_pruning_made_zero_stays_zero_in_its_form(tmp_path: Path, weights: str) -> None:
    pruned = act(tmp_path / "pruned", tiny_dir(), "pruning", "magnitude", sparsity=0.6)
    lr = 5e-3 if weights == "factors" else 1e-3
    gkd(tmp_path / "taught", pruned, student_weights=weights, lr=lr)
    require_zeros(pruned, tmp_path / "taught")
    assert kl_to_original(tmp_path / "taught") < kl_to_original(pruned)


def test_an_adapter_learns_beside_rounded_weights(tmp_path: Path) -> None:
    rounded = act(tmp_path / "rounded", tiny_dir(), "quantization", "rtn", bits=3, group_size=32)
    gkd(tmp_path / "model", rounded, student_weights="adapter", lr=5e-3)
    assert read(tmp_path / "model").adapter is not None
    assert kl_to_original(tmp_path / "model") < kl_to_original(rounded)


def test_a_killed_training_goes_on_to_the_very_same_weights(
    tmp_path: Path, narrow: Path, taught: tuple[Path, dict[str, Any]]
) -> None:
    """What the student writes after the kill is what it would have written without it."""

    def emit(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress" and event["label"] == "train" and event["done"] == 23:
            raise Killed

    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(Killed):
        gkd(tmp_path / "killed", narrow, Report(emit), work)
    done = gkd(tmp_path / "done", narrow, None, work)
    assert (tmp_path / "done" / WEIGHTS).read_bytes() == (taught[0] / WEIGHTS).read_bytes()
    assert figures(done)["tokens_written"] == figures(taught[1])["tokens_written"]


def test_another_vocabulary_and_a_prompt_as_long_as_a_window_are_refused(
    tmp_path: Path, narrow: Path
) -> None:
    with pytest.raises(CallFailure, match="go on after 32 tokens: the windows have 32") as refused:
        gkd(tmp_path / "long", narrow, prefix_tokens=32)
    assert refused.value.kind == "invalid"
    wide = tiny_copy(tmp_path / "wide", vocab_size=640)
    asked = request(tmp_path / "m", tiny_dir(), "distillation", "gkd")
    asked = dataclasses.replace(asked, params={**TAUGHT, **WRITES}, original_dir=str(wide))
    with pytest.raises(CallFailure, match="the teacher's vocabulary has 640 places"):
        apply.run(asked, silent_report())
    assert not (tmp_path / "m").exists()
