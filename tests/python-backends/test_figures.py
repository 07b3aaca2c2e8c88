"""Figures of an artifact: what a method tells of it in numbers crosses the wire, or is refused."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from tiny_model import act, tiny_dir

from pare_backends.failures import CallFailure
from pare_backends.measuring.action_energy import METRICS, ActionEnergy
from pare_backends.measuring.energy import EnergyReader
from pare_backends.measuring.energy_tables import CpuPower
from pare_backends.methods.figures import MAX_FIGURES, Figure, checked
from pare_backends.models.layout import layout_of

SOUND = Figure("heads_cut", "model.layers.0.self_attn", 3.0, "heads")


def test_a_method_s_figures_are_those_of_the_call(tmp_path: Path) -> None:
    result = act(tmp_path / "child", "magnitude", {"sparsity": 0.5}, agent="pruning")
    *own, energy = result["figures"]
    assert energy["metric"] in METRICS.values() and energy["unit"] == "J"
    assert own == [
        {"metric": "sparsity", "layer": layer, "value": 0.5, "unit": "1"}
        for layer in layout_of(tiny_dir()).linear
    ]


def test_an_action_s_joules_are_its_cpu_time_by_the_watts_of_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = iter([3.0, 5.5])
    monkeypatch.setattr("pare_backends.measuring.energy._packages", lambda: None)
    monkeypatch.setattr("time.process_time", lambda: next(seconds))
    figures, how = ActionEnergy("cpu", CpuPower(4.0, "a table")).so_far()
    assert figures == [Figure("estimated_energy_j", None, 10.0, "J")]
    assert how == ("estimated energy is the action's own: estimate, 4 W a busy thread: a table")


def test_beside_other_calls_a_counter_of_the_processor_counts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joules = itertools.count(7.0)
    counted = EnergyReader("rapl", "measured", lambda: next(joules), "all that runs")
    monkeypatch.setattr("pare_backends.measuring.action_energy.energy_reader", lambda *_: counted)
    power = CpuPower(4.0, "a table")
    alone, _ = ActionEnergy("cpu", power).so_far()
    beside, _ = ActionEnergy("cpu", power, beside=True).so_far()
    own_gpu, _ = ActionEnergy("cuda", power, beside=True).so_far()
    assert [one.metric for one in [*alone, *beside, *own_gpu]] == [
        "energy_j",
        "estimated_energy_j",
        "energy_j",
    ]


def test_an_action_that_is_over_before_the_counter_moves_has_no_joules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    still = EnergyReader("nvml-counter", "measured", lambda: 7.0, "the whole GPU")
    monkeypatch.setattr("pare_backends.measuring.action_energy.energy_reader", lambda *_: still)
    figures, how = ActionEnergy("cuda", None).so_far()
    assert figures == []
    assert how == "No energy is told: nvml-counter did not move meanwhile"


def test_figures_keep_their_order() -> None:
    whole = Figure("heads_cut", None, 6.0, "heads")
    assert [one["layer"] for one in checked([SOUND, whole])] == [SOUND.layer, None]


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        ([Figure("Heads cut", None, 1.0, "1")], "small letters"),
        ([Figure("cosine", None, 1.0, "1")], "pare measures that itself"),
        ([Figure("energy_j", None, 1.0, "J")], "pare measures that itself"),
        ([Figure("loss", None, float("nan"), "nats")], "no finite number"),
        ([Figure("loss", None, 1.0, "")], "its unit has 0 characters"),
        ([Figure("loss", "l" * 257, 1.0, "nats")], "its layer's name has 257"),
        ([SOUND, SOUND], "'heads_cut' of model.layers.0.self_attn: it was told before"),
        ([SOUND, Figure("heads_cut", None, 1.0, "1")], "in 1 here and in heads before"),
        ([Figure(f"kind_{n}", None, 1.0, "1") for n in range(65)], "64 kinds"),
        (
            [Figure("rank", f"l{n}", 1.0, "1") for n in range(MAX_FIGURES + 1)],
            "is the most",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(figures: list[Figure], why: str) -> None:
    with pytest.raises(CallFailure, match=why) as caught:
        checked(figures)
    assert caught.value.kind == "crash"
