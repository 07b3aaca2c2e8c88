"""Distillation: what a student learns, that zeros stay, what a kill costs, who is refused."""

from __future__ import annotations

import dataclasses
import functools
import json
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
from tiny_model import calibration, require_zeros, tiny_copy, tiny_dir

from pare_backends.calls import apply, import_model
from pare_backends.calls.import_model import ImportModelRequest
from pare_backends.checkpoint import BitmaskTensor, formula_bytes, read
from pare_backends.failures import CallFailure
from pare_backends.finetuning.whole_weights import open_weights
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report, silent_report

TAUGHT = {"lr": 1e-3, "steps": 40, "tokens": 32, "top_k": 16, "batch": 2}
WEIGHTS = "model.safetensors"

distill = functools.partial(teach, "distill", TAUGHT)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return narrowed(tmp_path_factory.mktemp("narrow") / "model")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory, narrow: Path) -> Path:
    out = tmp_path_factory.mktemp("taught") / "model"
    distill(out, narrow)
    return out


def test_a_cut_model_comes_nearer_to_the_original(narrow: Path, taught: Path) -> None:
    before, after = kl_to_original(narrow), kl_to_original(taught)
    assert after < 0.5 * before, f"{before:.3f} nats before, {after:.3f} after"


@pytest.mark.parametrize("divergence", ["reverse_kl", "jensen_shannon"])
def test_so_it_does_by_the_other_divergences(tmp_path: Path, narrow: Path, divergence: str) -> None:
    distill(tmp_path / "model", narrow, divergence=divergence, kd_share=0.9)
    assert kl_to_original(tmp_path / "model") < 0.6 * kl_to_original(narrow)


def test_hidden_states_and_rewards_can_be_asked_for(tmp_path: Path, narrow: Path) -> None:
    done = distill(tmp_path / "model", narrow, hidden_weight=0.5, reward_strength=1.0)
    assert kl_to_original(tmp_path / "model") < 0.6 * kl_to_original(narrow)
    assert any("taught by the study's original" in note for note in done["notes"])


@pytest.mark.parametrize("weights", ["factors", "adapter"])
def test_factors_learn_too_merged_or_beside_the_weights(
    tmp_path: Path, narrow: Path, weights: str
) -> None:
    out = tmp_path / "model"
    done = distill(out, narrow, student_weights=weights, lr=5e-3)
    assert kl_to_original(out) < 0.7 * kl_to_original(narrow)
    assert (read(out).adapter is not None) == (weights == "adapter")
    assert done["loader"] == ("pare" if weights == "adapter" else "transformers")


@pytest.mark.parametrize("weights", ["all", "factors"])
def test_what_pruning_made_zero_stays_zero_in_its_form(tmp_path: Path, weights: str) -> None:
    pruned = act(tmp_path / "pruned", tiny_dir(), "pruning", "magnitude", sparsity=0.6)
    distill(tmp_path / "taught", pruned, student_weights=weights)
    require_zeros(pruned, tmp_path / "taught")
    assert kl_to_original(tmp_path / "taught") < 0.9 * kl_to_original(pruned)


def test_a_pruned_student_is_trained_as_it_is_written(tmp_path: Path) -> None:
    """Zeros stay zero at every step, not only in the file: what is measured while it trains is the
    model that is left."""
    import torch

    pruned = act(tmp_path / "pruned", tiny_dir(), "pruning", "magnitude", sparsity=0.6)
    checkpoint = read(pruned)
    context = Context(pruned, layout_of(pruned), silent_report(), seed=1, calibration_path=None)
    model, _ = context.load(checkpoint)
    open_weights(model, checkpoint, context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    model(input_ids=held_out(), labels=held_out()).loss.backward()
    optimizer.step()
    for layer, tensor in checkpoint.in_form(BitmaskTensor).items():
        now = model.get_submodule(context.layout.modules[layer]).weight.detach().numpy()
        assert not now[~tensor.kept()].any() and not np.array_equal(now, tensor.weight()), layer


def test_a_student_that_is_the_teacher_does_not_move(tmp_path: Path) -> None:
    """AdamW takes whole steps on gradients however small: rounding must not be one."""
    done = distill(tmp_path / "model", tiny_dir(), kd_share=1.0, held_out=0)
    parent, child = read(tiny_dir()), read(tmp_path / "model")
    for name in parent.floats:
        assert np.array_equal(child.floats[name], parent.floats[name].astype(np.float16)), name
    assert figures(done)["last_kl"] < 1e-6


def test_figures_say_what_was_trained_on_and_what_is_kept(tmp_path: Path, narrow: Path) -> None:
    done = distill(tmp_path / "model", narrow, held_out=2)
    found = figures(done)
    assert found["tokens_trained_on"] == 40 * 2 * 32
    assert found["last_kl"] < found["first_kl"]
    assert 0 < found["teacher_tail_mass"] < 0.5
    assert found["teacher_cache"] > 16 * 31 * (16 * 8 + 4)
    (note,) = [n for n in done["notes"] if "is a lower bound" in n]
    assert f"{found['teacher_cache'] / 1e6:.1f} MB" in note


def test_a_killed_training_goes_on_to_the_very_same_weights(
    tmp_path: Path, narrow: Path, taught: Path
) -> None:
    def emit(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress" and event["label"] == "train" and event["done"] == 23:
            raise Killed

    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(Killed):
        distill(tmp_path / "killed", narrow, Report(emit), work)
    taken: list[int] = []

    def note(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress" and event["label"] == "train":
            taken.append(event["done"])

    distill(tmp_path / "done", narrow, Report(note), work)
    assert taken and taken[0] > 1, "steps before the saved one are not taken again"
    assert (tmp_path / "done" / WEIGHTS).read_bytes() == (taught / WEIGHTS).read_bytes()


def test_cut_distil_round_is_a_chain_that_keeps_what_was_learnt(
    tmp_path: Path, narrow: Path, taught: Path
) -> None:
    rounding = {"bits": 8, "group_size": 32}
    raw = act(tmp_path / "raw", narrow, "quantization", "rtn", **rounding)
    rounded = act(tmp_path / "rounded", taught, "quantization", "rtn", **rounding)
    assert kl_to_original(rounded) < 0.5 * kl_to_original(raw)


def test_a_shallower_student_starts_from_the_teachers_own_blocks(tmp_path: Path) -> None:
    """Cut in depth, then distil: hidden states are matched too, though the blocks are fewer."""
    asked = request(tmp_path / "shallow", tiny_dir(), "pruning", "depth", blocks=1, samples=8)
    asked = dataclasses.replace(asked, calibration_path=str(calibration()))
    assert apply.run(asked, silent_report())["model"]["layers"] == 1
    distill(tmp_path / "model", tmp_path / "shallow", hidden_weight=0.1)
    assert kl_to_original(tmp_path / "model") < 0.8 * kl_to_original(tmp_path / "shallow")


def test_beside_a_rounded_parent_factors_learn_and_its_integers_stay(tmp_path: Path) -> None:
    rounding = {"bits": 3, "group_size": 32}
    rounded = act(tmp_path / "rounded", tiny_dir(), "quantization", "rtn", **rounding)
    for weights in ("all", "factors"):
        with pytest.raises(CallFailure, match="it is quantized already in the parent") as refused:
            distill(tmp_path / weights, rounded, student_weights=weights)
        assert refused.value.kind == "invalid"
    distill(tmp_path / "model", rounded, student_weights="adapter", lr=5e-3, kd_share=0.9)
    assert kl_to_original(tmp_path / "model") < 0.8 * kl_to_original(rounded)
    before, after = read(rounded), read(tmp_path / "model")
    for layer, tensor in before.stored.items():
        for part, values in tensor.parts().items():
            assert np.array_equal(after.stored[layer].parts()[part], values), layer


def renamed(folder: Path, change: dict[str, int]) -> Path:
    """The tiny model with another tokenizer: some words have other numbers."""
    copy = tiny_copy(folder)
    path = copy / "tokenizer.json"
    document = json.loads(path.read_text())
    document["model"]["vocab"].update(change)
    path.write_text(json.dumps(document))
    return copy


def test_a_student_with_another_tokenizer_is_refused_with_the_first_difference(
    tmp_path: Path,
) -> None:
    vocabulary = json.loads((tiny_dir() / "tokenizer.json").read_text())["model"]["vocab"]
    one, other = sorted(vocabulary, key=lambda word: vocabulary[word])[5:7]
    swapped = {one: vocabulary[other], other: vocabulary[one]}
    student = renamed(tmp_path / "student", swapped)
    said = f"the token '{one}' is 6 in the student's, 5 in the teacher's"
    with pytest.raises(CallFailure, match=said) as refused:
        distill(tmp_path / "model", student)
    assert refused.value.kind == "bad_input"
    more = renamed(tmp_path / "more", {"unheard-of": len(vocabulary)})
    with pytest.raises(CallFailure, match=r"'unheard-of' is .* missing in the teacher's"):
        distill(tmp_path / "model", more)
    assert not (tmp_path / "model").exists()


def test_a_named_student_is_trained_in_the_place_of_the_untouched_model(
    tmp_path: Path, narrow: Path
) -> None:
    asked = request(tmp_path / "m", tiny_dir(), "distillation", "distill", student_from="named")
    asked = dataclasses.replace(asked, params={**TAUGHT, **asked.params}, student_dir=str(narrow))
    done = apply.run(asked, silent_report())
    assert done["model"]["intermediate_size"] == 64 < 128
    assert done["formula_bytes"] == formula_bytes(read(narrow))
    assert kl_to_original(tmp_path / "m") < 0.5 * kl_to_original(narrow)
    with pytest.raises(CallFailure, match="the study names none, or an action before"):
        distill(tmp_path / "none", tiny_dir(), student_from="named")


def test_a_student_is_imported_with_the_teachers_tokenizer_alone(
    tmp_path: Path, narrow: Path
) -> None:
    def imported(directory: Path) -> dict[str, Any]:
        asked = ImportModelRequest(str(directory), str(tmp_path / "unused"), False, str(tiny_dir()))
        return import_model.run(asked, silent_report())

    assert imported(narrow)["intermediate_size"] == 64
    vocabulary = json.loads((tiny_dir() / "tokenizer.json").read_text())["model"]["vocab"]
    more = renamed(tmp_path / "more", {"unheard-of": len(vocabulary)})
    with pytest.raises(CallFailure, match="its tokenizer is another one than the teacher's"):
        imported(more)


def test_hidden_states_of_another_width_are_refused(tmp_path: Path) -> None:
    wide = tiny_copy(tmp_path / "wide", hidden_size=128)
    asked = request(tmp_path / "m", tiny_dir(), "distillation", "distill", hidden_weight=0.5)
    asked = dataclasses.replace(asked, params={**TAUGHT, **asked.params}, original_dir=str(wide))
    with pytest.raises(CallFailure, match="the student's are 64 wide, the teacher's 128"):
        apply.run(asked, silent_report())
