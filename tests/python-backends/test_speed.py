"""Speed, memory and energy of an artifact beside its baseline."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_fixtures import artifact, exported_graph, random_llama, run_worker
from scipy import stats

from pare_backends.calls import speed
from pare_backends.checkpoint.stored_form import stored_form
from pare_backends.failures import CallFailure
from pare_backends.measuring import timing
from pare_backends.measuring.energy import EnergyReader
from pare_backends.measuring.quiet import VARIABLE
from pare_backends.measuring.timing import (
    Plan,
    mean_with_error,
    median_with_error,
    time_in_turn,
    trimmed_mean_with_error,
)
from pare_backends.progress import Report, silent_report
from pare_backends.protocol import build
from pare_backends.runtimes.registry import open_session
from pare_backends.runtimes.session import Numerics

METRICS = {
    "latency_ms",
    "decode_tokens_per_s",
    "prefill_ms_per_token",
    "prefill_tokens_per_s",
    "energy_j_per_1k_tokens",
    "co2_g_per_1k_tokens",
    "memory_bytes",
    "latency_ratio",
    "prefill_ratio",
    "energy_ratio",
}


def request(runtime: str, **changes: Any) -> dict[str, Any]:
    return {
        "call": "speed",
        "runtime": runtime,
        "artifact_dir": str(artifact(4, 32, True, 8)),
        "baseline_dir": str(random_llama(0)),
        **dict.fromkeys(
            ("form_dir", "baseline_form_dir"),
            None if runtime == "transformers" else str(exported_graph()),
        ),
        "prompt_tokens": 12,
        "new_tokens": 6,
        "least_passes": 3,
        "most_passes": 3,
        "half_width": 0.02,
        "seed": 0,
        "cpu_power": {"watts_per_thread": 4.0, "source": "a test"},
        "carbon_intensity": dict(country="DEU", g_per_kwh=380.95, year=2023, source="a table"),
        **changes,
    }


def built(fields: dict[str, Any]) -> speed.Request:
    return build(speed.Request, {k: v for k, v in fields.items() if k != "call"})


def check(measurements: list[dict[str, Any]], runtime: str) -> dict[str, dict[str, Any]]:
    by_name = {m["metric"]: m for m in measurements}
    assert set(by_name) <= METRICS
    for row in by_name.values():
        assert not {"unit", "direction"} & set(row), "the table of metrics decides"
        assert row["value"] > 0
        assert row["runtime"] == runtime
        assert row["numerics"]["inference_precision"] == "f32"
    assert by_name["latency_ms"]["n"] == 3
    assert by_name["latency_ms"]["standard_error"] >= 0
    assert "380.95 g/kWh, DEU 2023 (a table)" in by_name["co2_g_per_1k_tokens"]["method"]
    joules, grams = (by_name[f"{one}_per_1k_tokens"]["value"] for one in ("energy_j", "co2_g"))
    assert grams == pytest.approx(joules / 3.6e6 * 380.95)
    for name in METRICS:
        spread = by_name[name].get("spread") if name in by_name else None
        if name in ("memory_bytes", "energy_ratio") or name not in by_name:
            assert spread is None
            continue
        assert spread is not None
        order = ["minimum", "lower_quartile", "upper_quartile", "maximum"]
        assert [spread[part] for part in order] == sorted(spread.values())
        assert spread["minimum"] <= by_name[name]["value"] <= spread["maximum"]
    latency, rate = by_name["latency_ms"], by_name["decode_tokens_per_s"]
    assert rate["value"] == pytest.approx(1000 / latency["value"])
    assert "after 6 tokens of warm-up" in latency["method"]
    return by_name


def test_speed_measures_an_artifact_beside_its_baseline_in_openvino() -> None:
    events = run_worker(sys.executable, request("openvino"))
    assert events[-1]["event"] == "result", events[-1]
    result = events[-1]["result"]
    own = check(result["measurements"], "openvino")
    baseline = check(result["baseline_measurements"], "openvino")
    ratios = {"latency_ratio", "prefill_ratio"}
    assert set(own) - {"energy_ratio"} == METRICS - {"energy_ratio"}
    assert set(baseline) == METRICS - {"memory_bytes", "energy_ratio"} - ratios
    assert own["latency_ratio"]["n"] == 3
    assert own["latency_ratio"]["form"] == own["latency_ms"]["form"]
    assert own["latency_ms"]["form"] != baseline["latency_ms"]["form"]
    assert own["memory_bytes"]["method"] == "VmHWM"  # and no torch was imported
    assert own["latency_ms"]["provenance"] == "measured"
    assert result["bytes_read_per_token"] < 4 * 320 * 64
    reading = result["energy"]
    assert reading["reader"] == own["energy_j_per_1k_tokens"]["method"].partition(";")[0]
    assert reading["carbon_intensity"]["country"] == "DEU" and reading["how"]
    assert reading["tokens"] % own["latency_ms"]["n"] == 0 and reading["joules"] >= 0
    assert reading["seconds"] > 0 and reading["idle_watts"] >= 0
    read = result["memory_bandwidth_gb_s"] * 1e9 * result["roofline_ms"] / 1000
    assert read == pytest.approx(result["bytes_read_per_token"])


def test_speed_in_transformers_is_emulated_for_packed_weights() -> None:
    result = speed.run(built(request("transformers")), silent_report(2))
    own = check(result["measurements"], "transformers")
    baseline = check(result["baseline_measurements"], "transformers")
    assert own["latency_ms"]["provenance"] == "emulated"
    assert own["latency_ratio"]["provenance"] == "emulated"
    assert baseline["latency_ms"]["provenance"] == "measured"


@pytest.mark.parametrize(("available", "first"), [(64e9, "load"), (1e6, "turn")])
def test_what_is_small_is_loaded_before_the_machine_is_asked_for(
    available: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    monkeypatch.setattr(speed, "memory_bytes", lambda: (64e9, available))
    told: list[dict[str, Any]] = []
    speed.run(built(request("transformers")), Report(told.append, 2))
    steps = [one.get("name", one["event"]) for one in told]
    assert next(one for one in steps if one in ("load", "turn")) == first
    assert steps.count("load") == 2 and steps.count("turn") == 1
    assert steps.index("turn") < steps.index("bandwidth") < steps.index("speed")


def test_the_stored_form_is_that_of_the_format_and_not_of_the_numbers(
    tmp_path: Path,
) -> None:
    """Two artifacts of one format that differ in every number; others in bits, groups, offsets."""
    form = stored_form(artifact(4, 32, True, 8))
    other = shutil.copytree(artifact(4, 32, True, 8), tmp_path / "other")
    path = next(other.glob("*.safetensors"))
    data = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(data[:8], "little")
    data[header:] = bytes(value ^ 1 for value in data[header:])
    path.write_bytes(bytes(data))
    config = json.loads((other / "config.json").read_text())
    groups = config["quantization_config"]["config_groups"]
    for group in groups.values():
        group["targets"].reverse()
    config["_name_or_path"] = "/elsewhere"
    (other / "config.json").write_text(json.dumps(config))
    assert stored_form(other) == form
    unlike = [
        artifact(4, 16, True, 8),
        artifact(4, 32, False, 8),
        artifact(3, 32, True, 8),
    ]
    assert len({form, *(stored_form(one) for one in unlike), stored_form(random_llama(0))}) == 5


def test_speed_refuses_no_tokens() -> None:
    with pytest.raises(CallFailure, match="new_tokens is 0"):
        speed.run(built(request("transformers", new_tokens=0)), silent_report())


def test_open_session_suggests_a_runtime() -> None:
    with pytest.raises(CallFailure, match='Did you mean "openvino"'):
        open_session("openvno", "", None, 1)


class CountingSession:
    """A session whose next token is one more than the last, and which says what it did."""

    numerics = Numerics("f32", "f32", 0)
    device = "cpu"
    provenance = "measured"
    bytes_read_per_token = 1
    notes = ()

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def prefill(self, tokens: np.ndarray) -> int:
        self.log.append(f"{self.name}:{len(tokens)}")
        return 0

    def decode(self, token: int) -> int:
        self.log.append(str(token))
        return token + 1

    def gpu_peak_bytes(self) -> int | None:
        return None


def test_time_in_turn_interleaves_and_feeds_each_token_back() -> None:
    log: list[str] = []
    joules = iter(range(100))
    reader = EnergyReader("rapl", "measured", lambda: float(next(joules)), "a test")
    sessions = [CountingSession("a", log), CountingSession("b", log)]
    plan = Plan(least=2, most=2, half_width=0.02)
    passes = time_in_turn(sessions, np.arange(5), 2, plan, reader, 0.0, silent_report())
    one, other = ["a:5", "0", "1"], ["b:5", "0", "1"]
    assert log == [*one, *other, *other, *one], "each goes first in half of the pairs"
    assert [p.joules for p in passes[0]] == [1.0, 1.0]


def test_pairs_go_on_until_their_interval_is_narrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looks at 4, 8, 16 and 20 pairs: what is steady ends at the first, what is not at the last."""
    reader = EnergyReader("x", "estimated", time.perf_counter, "a watt")
    plan = Plan(least=4, most=20, half_width=0.2)
    assert [made for made in range(1, 21) if plan.ends_at(made)] == [4, 8, 16, 20]
    rng = np.random.default_rng(0)
    steady, restless = CountingSession("steady", []), CountingSession("restless", [])

    def timed(session: CountingSession, *_: object) -> timing.Pass:
        seconds = 0.004 if session is steady else float(rng.choice([0.001, 0.008]))
        return timing.Pass(0.001, seconds, 0.0)

    monkeypatch.setattr(timing, "time_pass", timed)
    for other, pairs in ((steady, 4), (restless, 20)):
        sessions = [steady, other]
        made = time_in_turn(sessions, np.arange(3), 1, plan, reader, 0.0, silent_report())
        assert [len(one) for one in made] == [pairs, pairs]
    alone = time_in_turn([restless], np.arange(3), 1, plan, reader, 0.0, silent_report())
    assert len(alone[0]) == 4, "alone it has no ratio"


def pass_logs(kind: str, passes: int, rng: np.random.Generator) -> np.ndarray:
    """Logarithms of the times of passes, in the order they are made, on a machine of that kind."""
    logs = 0.02 * rng.standard_normal(passes)
    if kind == "autoregressive":
        noise = 0.01 * rng.standard_normal(passes)
        for i in range(1, passes):
            noise[i] = 0.7 * noise[i - 1] + np.sqrt(1 - 0.49) * noise[i]
        return logs + noise
    if kind == "drift":
        return logs + np.linspace(0, rng.uniform(-0.08, 0.08), passes)
    if kind == "step":
        logs[rng.integers(passes) :] += rng.choice([-0.1, 0.1])
    if kind == "bursts":
        logs += np.where(rng.random(passes) < 0.08, rng.exponential(0.3, passes), 0)
    return logs


@pytest.mark.parametrize("kind", ["steady", "autoregressive", "drift", "step", "bursts"])
def test_the_interval_of_pairs_covers_as_often_as_it_says(kind: str) -> None:
    """93 to 97 of 100, the looks of the plan among it: of 3,000 sessions the error is 0.4."""
    rng = np.random.default_rng(20261126)
    plan, covered = Plan(least=8, most=32, half_width=0.02), 0
    for _ in range(3000):
        logs = pass_logs(kind, 2 * plan.most, rng).reshape(-1, 2)
        logs[1::2] = logs[1::2, ::-1]  # the other one goes first
        ratios = logs[:, 0] - logs[:, 1]
        for made in (8, 16, 32):
            if timing.is_narrow(ratios[:made], plan.half_width):
                break
        value, error = trimmed_mean_with_error(ratios[:made])
        assert error is not None
        covered += abs(value) <= timing.Z975 * error
    assert 0.93 <= covered / 3000 <= 0.97, covered / 3000


def test_a_trimmed_mean_has_the_width_of_students_t() -> None:
    assert trimmed_mean_with_error([3.0]) == (3.0, None)
    values = np.random.default_rng(1).normal(1, 1, 40)
    mean, _ = trimmed_mean_with_error(values.tolist())
    assert mean == pytest.approx(stats.trim_mean(values, 0.2))
    # Of four values a fifth is none: Student's own interval.
    few = values[:4]
    mean, error = trimmed_mean_with_error(few.tolist())
    low, high = stats.t.interval(0.95, 3, few.mean(), stats.sem(few))
    assert error is not None
    half = timing.Z975 * error / timing.LOOKED_AT
    assert (mean - half, mean + half) == (
        pytest.approx(low, 1e-3),
        pytest.approx(high, 1e-3),
    )
    for freedom, t in enumerate(timing.T975, 1):
        assert t == pytest.approx(stats.t.ppf(0.975, freedom), abs=6e-4)


def test_a_counter_is_read_over_seconds_and_an_estimate_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timing, "COUNTED_SECONDS", 0.05)
    session = CountingSession("a", [])
    session.decode = lambda token: time.sleep(0.002) or token  # type: ignore[method-assign]
    for provenance in ("measured", "estimated"):
        reader = EnergyReader("x", provenance, time.perf_counter, "a watt")
        plan = Plan(least=2, most=2, half_width=0.02)
        passes = time_in_turn([session], np.arange(3), 2, plan, reader, 0.0, silent_report())[0]
        every = timing.read_energy(session, passes, np.arange(3), 2, reader, 0.0, silent_report())
        assert every[:2] == passes
        seconds = sum(one.decode_seconds for one in every)
        assert (seconds >= 0.05) == (provenance == "measured")
        # A reader of one watt: joules are seconds.
        assert sum(one.joules for one in every) == pytest.approx(seconds, rel=0.05)


def test_mean_with_error_is_that_of_the_mean() -> None:
    assert mean_with_error([1.0, 2.0, 3.0]) == (2.0, pytest.approx(1 / np.sqrt(3)))
    assert mean_with_error([4.0]) == (4.0, None)


def test_median_with_error_ignores_one_outlier() -> None:
    value, error = median_with_error([10.0, 10.1, 9.9, 10.0, 500.0], seed=0)
    assert value == 10.0
    assert error is not None and error > 0
    assert median_with_error([3.0], seed=0) == (3.0, None)
    normal = np.random.default_rng(0).normal(0, 1, 400)
    _, spread = median_with_error(list(normal), seed=0)
    # The median's standard error is sqrt(pi / 2) times the mean's.
    assert spread == pytest.approx(1.2533 / 20, rel=0.25)
