"""The shared training loop: its schedule, its order, when it stops, what a kill costs it."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from tiny_model import calibration, tiny_dir

from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_model
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report, silent_report
from pare_backends.training import Schedule, Trained, held_out_loss, hold_out, train
from pare_backends.training.divergence import RISE, WINDOW, check_progress
from pare_backends.training.losses import next_token_loss
from pare_backends.training.order import numbers_of
from pare_backends.training.schedule import steps_of
from pare_backends.training.state import Course, save

STEPS = 24
USUAL_LR = 3e-3


def context(work: Path | None = None, report: Report | None = None) -> Context:
    directory = tiny_dir()
    return Context(
        directory,
        layout_of(directory),
        report or silent_report(),
        1,
        None,
        calibration(),
        work,
    )


def model() -> Any:
    """The tiny model with noise as large as its weights: what it knew is to be learnt again."""
    noisy = load_model(read(tiny_dir()), tiny_dir())
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in noisy.parameters():
            if parameter.dim() == 2:
                parameter += parameter.std() * torch.randn(parameter.shape, generator=generator)
    return noisy


def weights(tuned: Any) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in tuned.named_parameters()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items())


def run(
    work: Path | None = None, report: Report | None = None, **changes: Any
) -> tuple[Any, Trained]:
    """A model trained on all its weights, with four windows held out."""
    given = context(work, report)
    training, held = hold_out(given.training(32), 4, given)
    assert held is not None
    schedule = Schedule(**{"lr": USUAL_LR, "steps": STEPS, "look_every": 5, **changes})
    tuned = model()
    done = train(tuned, next_token_loss, training, schedule, given, held_out_loss(held, 4))
    return tuned, done


@pytest.mark.parametrize("shape", ["linear", "cosine", "constant"])
@pytest.mark.parametrize("warmup", [0.0, 0.25])
def test_the_rate_is_that_of_transformers_schedules(shape: str, warmup: float) -> None:
    from transformers import get_scheduler

    steps, rising = 20, round(20 * warmup)
    schedule = Schedule(lr=3e-4, steps=steps, shape=shape, warmup=warmup)
    name = "constant_with_warmup" if shape == "constant" else shape
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=3e-4)
    theirs = get_scheduler(name, optimizer, num_warmup_steps=rising, num_training_steps=steps)
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        theirs.step()
    ours = [schedule.rate(step) for step in range(steps)]
    # Theirs begins a warm-up with a step of length 0: ours is one step ahead until its end.
    assert ours[:rising] == pytest.approx(rates[1 : rising + 1])
    assert ours[rising:] == pytest.approx(rates[rising:])


def test_every_window_is_read_once_before_any_is_read_again() -> None:
    read_so_far = [n for step in range(6) for n in numbers_of(step, 4, 12, seed=3)]
    assert sorted(read_so_far[:12]) == sorted(read_so_far[12:]) == list(range(12))
    assert read_so_far[:12] != read_so_far[12:] != list(range(12))
    assert read_so_far != [n for step in range(6) for n in numbers_of(step, 4, 12, seed=4)]
    assert (steps_of(2, 12, 4), steps_of(0.1, 12, 4), steps_of(1, 13, 4)) == (6, 1, 4)


def test_training_lowers_the_loss_and_says_what_it_took() -> None:
    tuned, done = run()
    assert done.stopped == "steps"
    assert done.steps == STEPS
    assert done.tokens == STEPS * 32
    assert [step for step, _ in done.held_out] == [0, 5, 10, 15, 20, 24]
    assert done.held_out[-1][1] < done.held_out[0][1]
    assert done.best_held_out == min(loss for _, loss in done.held_out)
    assert not tuned.training
    named = {name: value for name, value, _ in done.rows()}
    assert named["tokens_trained_on"] == STEPS * 32
    assert named["first_loss"] == done.losses[0]


def test_the_weights_with_the_best_held_out_loss_are_kept() -> None:
    """A held-out loss that rises from the second look on: the steps after that look are undone."""
    seen: list[dict[str, torch.Tensor]] = []
    told = iter([3.0, 2.0, 2.5, 2.6, 2.7, 1.0])

    def look(now: Any) -> float:
        assert not now.training
        seen.append(weights(now))
        return next(told)

    given, tuned = context(), model()
    schedule = Schedule(lr=1e-3, steps=40, look_every=5, patience=3)
    done = train(tuned, next_token_loss, given.training(32), schedule, given, look)
    assert (done.stopped, done.steps, done.kept) == ("held_out", 20, 5)
    assert same(weights(tuned), seen[1])
    assert not same(seen[1], seen[2])


def test_weights_that_no_step_made_better_are_the_parents() -> None:
    told = iter([1.0, 2.0, 3.0])
    given, tuned = context(), model()
    before = weights(tuned)
    schedule = Schedule(lr=1e-3, steps=40, look_every=5, patience=2)
    windows = given.training(32)
    done = train(tuned, next_token_loss, windows, schedule, given, lambda _: next(told))
    assert done.kept == 0
    assert same(weights(tuned), before)
    assert "the weights are the parent's" in done.sentence()


KILLED = """
import os, signal, sys
from pathlib import Path
from pare_backends.progress import Report
from pare_backends.training import loop
from test_training import run
loop.SAVING_SHARE = 0  # however long a loaded machine takes to write a file
def emit(event):
    if event["event"] == "progress" and event["done"] == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
run(Path(sys.argv[1]), Report(emit){more})
"""


def kill_at(step: int, work: Path, more: str = "") -> None:
    """Trains in a process that kills itself in the midst of a step; waits for its end."""
    ended = subprocess.run(
        [sys.executable, "-c", KILLED.format(at=step, more=more), str(work)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL


def test_a_killed_training_goes_on_to_the_very_same_weights(tmp_path: Path) -> None:
    whole, expected = run()
    kill_at(13, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["train.safetensors"]
    taken: list[int] = []
    points: list[dict[str, Any]] = []

    def emit(event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            taken.append(event["done"])
        elif event["event"] == "points":
            points.extend(event["points"])

    again, done = run(tmp_path, Report(emit))
    assert taken == list(range(11, STEPS + 1)), "steps before the saved one are not taken"
    assert done == expected
    assert same(weights(again), weights(whole))
    # Whoever runs the action anew has forgotten what the killed run told.
    losses = {row["step"]: row["values"]["loss"] for row in points if "loss" in row["values"]}
    assert losses == {step + 1: loss for step, loss in enumerate(expected.losses)}
    looks = {r["step"]: r["values"]["held_out_loss"] for r in points if len(r["values"]) == 1}
    assert looks == dict(expected.held_out)


def test_a_kill_forgets_nothing_of_the_early_stop(tmp_path: Path) -> None:
    """At a rate at which the held-out loss rises, the best look lies before the kill."""
    # By the processor the losses differ in their last digits: at which rate it rises, too.
    for rate in (1.2e-2, 1.6e-2, 2e-2, 2.6e-2, 3.4e-2, 9e-3, 7e-3):
        rising = {"lr": rate, "steps": 40, "patience": 4, "shape": "constant"}
        whole, expected = run(**rising)
        if expected.stopped == "held_out" and 0 < expected.kept < 20 and expected.steps > 23:
            break
    else:
        pytest.fail("the case is none: choose other rates")
    kill_at(23, tmp_path, ", **" + repr(rising))
    taken: list[int] = []

    def emit(event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            taken.append(event["done"])

    again, done = run(tmp_path, Report(emit), **rising)
    assert taken[0] == 21
    assert done == expected
    assert same(weights(again), weights(whole))


def test_a_damaged_state_is_told_and_training_begins_anew(tmp_path: Path) -> None:
    whole, expected = run()
    (tmp_path / "train.safetensors").write_bytes(b"half a file")
    alerts: list[dict[str, Any]] = []
    report = Report(lambda event: alerts.append(event) if event["event"] == "alert" else None)
    again, done = run(tmp_path, report)
    assert done == expected
    assert same(weights(again), weights(whole))
    assert [alert["condition"] for alert in alerts] == ["training_state"]


def test_a_full_disk_is_one_sentence_and_leaves_the_state_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words are safetensors' own, as a file system of one megabyte made it say them."""
    tuned = model()
    trained = dict(tuned.named_parameters())
    optimizer = torch.optim.AdamW(trained.values(), lr=1e-3)
    tuned(
        torch.ones(1, 4, dtype=torch.long), labels=torch.ones(1, 4, dtype=torch.long)
    ).loss.backward()
    optimizer.step()
    path = tmp_path / "train.safetensors"
    save(path, trained, optimizer, Course(losses=[1.0]))
    before = path.read_bytes()

    def half_of_it(_tensors: Any, path: str, **_named: Any) -> None:
        Path(path).write_bytes(b"half a file")
        raise SafetensorError(
            "Error while serializing: I/O error: No space left on device (os error 28)"
        )

    monkeypatch.setattr("safetensors.torch.save_file", half_of_it)
    with pytest.raises(CallFailure, match="after step 2: no space left on the disk") as failed:
        save(path, trained, optimizer, Course(losses=[1.0, 2.0]))
    assert failed.value.kind == "disk_full"
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["train.safetensors"]


def test_a_learning_rate_that_diverges_is_named_and_ended_early() -> None:
    taken: list[int] = []

    def emit(event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            taken.append(event["done"])

    with pytest.raises(CallFailure, match=r"a learning rate of 0\.3: the loss diverges") as failed:
        run(report=Report(emit), lr=100 * USUAL_LR, steps=200, shape="constant", patience=99)
    assert failed.value.kind == "invalid"
    assert failed.value.hint is not None
    assert len(taken) < 40


def test_a_rise_is_told_from_windows_that_are_hard_by_themselves() -> None:
    calm = [3.0 + 0.5 * math.sin(step) for step in range(60)]
    check_progress(calm, 1e-4)
    check_progress([*calm, 8.0], 1e-4)  # one hard window
    check_progress([40.0, *[30.0 + n % 3 for n in range(30)]], 1e-4)  # large by its kind
    with pytest.raises(CallFailure, match="the loss diverges"):
        check_progress([*calm, *[3.6 + RISE] * WINDOW], 1e-4)
    with pytest.raises(CallFailure, match="the loss diverges"):  # after it had fallen far
        check_progress([9.0, *[4.0] * 20, *[8.0] * WINDOW], 1e-4)


def test_a_gradient_that_is_no_number_is_named() -> None:
    def loss_of(
        now: Any, batch: torch.Tensor, numbers: Any
    ) -> tuple[torch.Tensor, dict[str, float]]:
        loss, _ = next_token_loss(now, batch, numbers)
        return loss + torch.sqrt(next(now.parameters()).sum() * 0), {}

    given = context()
    with pytest.raises(CallFailure, match="the gradient of step 1 is nan") as failed:
        train(model(), loss_of, given.training(32), Schedule(lr=1e-3, steps=2), given)
    assert failed.value.kind == "not_a_number"
    assert re.search(r"in \d+ of \d+ tensors, first model\.embed_tokens", failed.value.message)


def test_a_loss_that_is_no_number_names_the_first_layer() -> None:
    given, broken = context(), model()
    with torch.no_grad():
        broken.get_submodule("model.layers.1.self_attn.o_proj").weight[0, 0] = torch.inf
    with pytest.raises(CallFailure) as failed:
        train(broken, next_token_loss, given.training(32), Schedule(lr=1e-3, steps=2), given)
    assert "first those of model.layers.1.self_attn.o_proj, whose weight" in failed.value.message


def test_further_figures_become_points_beside_the_loss() -> None:
    points: list[dict[str, Any]] = []
    report = Report(lambda e: points.extend(e["points"]) if e["event"] == "points" else None)
    given = context(report=report)

    def loss_of(
        now: Any, batch: torch.Tensor, numbers: Any
    ) -> tuple[torch.Tensor, dict[str, float]]:
        loss, _ = next_token_loss(now, batch, numbers)
        return loss, {"kl": 0.5 * len(numbers)}

    schedule = Schedule(lr=1e-3, steps=3, batch=2)
    done = train(model(), loss_of, given.training(32), schedule, given)
    assert done.figures == {"kl": [1.0, 1.0, 1.0]}
    assert done.tokens == 3 * 2 * 32
    rates = [schedule.rate(step) for step in range(3)]
    assert [row["values"] for row in points] == [
        {"loss": loss, "learning_rate": rate, "kl": 1.0}
        for loss, rate in zip(done.losses, rates, strict=True)
    ]
    assert [row["step"] for row in points] == [1, 2, 3]


def test_windows_that_repeat_what_is_trained_on_are_not_held_out() -> None:
    alerts: list[str] = []
    report = Report(lambda e: alerts.append(e["evidence"]) if e["event"] == "alert" else None)
    given = context(report=report)
    windows = torch.arange(16 * 32).reshape(16, 32)
    training, held = hold_out(windows, 4, given)
    assert (len(training), held is not None and len(held)) == (12, 4)
    assert alerts == []
    windows[13, 4:] = windows[2, :28]  # 28 tokens of window 2, moved
    training, held = hold_out(windows, 4, given)
    assert held is not None
    assert torch.equal(held, windows[[12, 14, 15]])
    assert "such as window 13 with window 2" in alerts[0]
    windows[12:] = windows[0]
    with pytest.raises(CallFailure, match="Cannot hold out 4 training windows: all share"):
        hold_out(windows, 4, given)
    assert hold_out(windows[:3], 4, given)[1] is None, "too few to spare one"


def test_a_batch_of_more_windows_than_there_are_is_refused() -> None:
    given = context()
    with pytest.raises(CallFailure, match="batches of 17 windows: there are 16"):
        train(model(), next_token_loss, given.training(32), Schedule(1e-3, 2, 17), given)
