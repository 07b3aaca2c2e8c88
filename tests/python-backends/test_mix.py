"""Call `mix`: candidates under a budget, their measured KL, and the action that makes one."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from test_gptq import divergence
from tiny_model import act, calibration, tiny_dir

from pare_backends.calls.mix import Request, run
from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.quantization.mixing.compare import difference

FORMATS = ["2-bit-g32", "3-bit-g32", "4-bit-g32", "8-bit-g32"]


def asked(folder: Path, **given: Any) -> Request:
    folder.mkdir(exist_ok=True)
    usual = Request(
        str(tiny_dir()),
        str(calibration()),
        *(FORMATS, 8, 64),
        **{"budget_bits": 3.75, "budget_bytes": None, "refine": 6, "refine_windows": 8},
        **{"fused": True, "seed": 1, "layer_cache": str(folder)},
    )
    return replace(usual, **given)


def test_the_winner_is_what_was_measured_best_and_its_action_makes_it(tmp_path: Path) -> None:
    answer = run(asked(tmp_path / "kept"), silent_report())
    mixes = answer["mixes"]
    # At most as many as asked for: a processor's last digits decide how many near ones differ.
    assert 3 < len(mixes) <= 6 and len({one["mix"] for one in mixes}) == len(mixes)
    assert {"fisher", "uniform"} <= {one["source"] for one in mixes}
    assert all(one["size_bytes"] <= answer["budget_bytes"] for one in mixes)
    won = [one for one in mixes if one["won"]]
    assert len(won) == 1 and won[0]["kl"] == min(one["kl"] for one in mixes)
    assert all(one["kl"] == pytest.approx(sum(one["kl_by_window"]) / 8) for one in mixes)
    uniform = min((one for one in mixes if one["source"] == "uniform"), key=lambda one: one["kl"])
    assert uniform["less_uniform"] is None
    for one in mixes:
        if one is not uniform:
            apart = difference(one["kl_by_window"], uniform["kl_by_window"])
            assert apart is not None and one["less_uniform"] == asdict(apart)
    predicted = [point["predicted_kl"] for point in answer["curve"]]
    assert predicted == sorted(predicted, reverse=True)
    action = answer["action"]
    result = act(tmp_path / "mix", action["method"], action["params"])
    assert result["weight_bits"] == pytest.approx(won[0]["weight_bits"], rel=1e-3)
    act(tmp_path / "uniform", "mixed", {**action["params"], "assignment": uniform["mix"]})
    assert divergence(tmp_path / "mix") < divergence(tmp_path / "uniform")
    kept = read(tmp_path / "mix").stored
    for names in (("q_proj", "k_proj", "v_proj"),):  # layers of one input are alike
        own = {kept[f"model.layers.0.self_attn.{name}"].scheme for name in names}
        assert len(own) == 1


def test_another_budget_makes_and_scores_nothing_again(tmp_path: Path) -> None:
    first = run(asked(tmp_path / "kept", refine=0), silent_report())
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
    weights = round(8 * first["mixes"][0]["size_bytes"] / first["mixes"][0]["weight_bits"])
    second = run(
        asked(tmp_path / "kept", refine=0, budget_bits=None, budget_bytes=weights * 5 // 8),
        silent_report(),
    )
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()} == files
    assert second["mixes"][0]["kl"] is None and second["mixes"][0]["won"]
    assert first["mixes"][0]["weight_bits"] <= 3.75 < second["mixes"][0]["weight_bits"] <= 5
    assert first["curve"] == second["curve"]


def test_budgets_that_cannot_be_kept_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match="the smallest ones take"):
        run(asked(tmp_path / "kept", budget_bits=1.0, refine=0), silent_report())
    with pytest.raises(CallFailure, match="give bits per weight or bytes"):
        run(asked(tmp_path / "kept", budget_bytes=1000), silent_report())
    with pytest.raises(CallFailure, match="which rounds the inputs, too"):
        run(asked(tmp_path / "kept", formats=["int8"]), silent_report())


def test_a_budget_of_a_formats_own_bits_holds_that_format_everywhere(tmp_path: Path) -> None:
    """Integers of 3 bits with a scale for 32 of them take 3.5 a weight, and shapes beside them."""
    folder = tmp_path / "kept"
    of_both = asked(folder, budget_bits=3.5, refine=0, formats=["2-bit-g32", "3-bit-g32"])
    (mixed,) = run(of_both, silent_report())["mixes"]
    alone = replace(of_both, budget_bits=8.0, formats=["3-bit-g32"])
    (uniform,) = run(alone, silent_report())["mixes"]
    assert mixed["size_bytes"] == uniform["size_bytes"]
    assert uniform["weight_bits"] > 3.5


def test_a_difference_is_paired_over_windows() -> None:
    apart = difference([1.0, 2.0, 3.0, 4.0], [1.1, 2.2, 3.1, 4.2])
    assert apart is not None and apart.mean == pytest.approx(-0.15)
    # By hand: standard deviation 0.057735, over sqrt 4, times t(0.975, 3) = 3.182446.
    assert apart.high - apart.mean == pytest.approx(0.091869, abs=1e-5)
    assert difference([1.0], [2.0]) is None
