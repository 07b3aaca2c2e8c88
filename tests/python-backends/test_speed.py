"""Speed, memory and energy of an artifact beside its baseline."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_fixtures import artifact, exported_graph, random_llama, run_worker

from pare_backends.calls import speed
from pare_backends.checkpoint.stored_form import stored_form
from pare_backends.failures import CallFailure
from pare_backends.measuring import timing
from pare_backends.measuring.energy import EnergyReader
from pare_backends.measuring.quiet import VARIABLE, alert_if_busy, timing_lock, wait_until_quiet
from pare_backends.measuring.timing import mean_with_error, median_with_error, time_in_turn
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
        "repeats": 3,
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


def test_the_stored_form_is_that_of_the_format_and_not_of_the_numbers(tmp_path: Path) -> None:
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
    unlike = [artifact(4, 16, True, 8), artifact(4, 32, False, 8), artifact(3, 32, True, 8)]
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
    passes = time_in_turn(sessions, np.arange(5), 2, 2, reader, 0.0, silent_report())
    assert log == ["a:5", "0", "1", "b:5", "0", "1"] * 2
    assert [p.joules for p in passes[0]] == [1.0, 1.0]


def test_a_counter_is_read_over_seconds_and_an_estimate_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timing, "COUNTED_SECONDS", 0.05)
    session = CountingSession("a", [])
    session.decode = lambda token: time.sleep(0.002) or token  # type: ignore[method-assign]
    for provenance in ("measured", "estimated"):
        reader = EnergyReader("x", provenance, time.perf_counter, "a watt")
        passes = time_in_turn([session], np.arange(3), 2, 2, reader, 0.0, silent_report())[0]
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


def test_timing_lock_lets_one_timing_in_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    waited = threading.Event()
    entered = threading.Event()
    report = Report(lambda event: waited.set())

    def second() -> None:
        with timing_lock(report):
            entered.set()

    with timing_lock(silent_report()):
        thread = threading.Thread(target=second)
        thread.start()
        assert waited.wait(10)
        assert not entered.is_set()
    thread.join(10)
    assert entered.is_set()


def test_a_timing_that_waits_for_nobody_takes_the_machine_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    told: list[dict[str, Any]] = []
    with timing_lock(Report(told.append)), timing_lock(Report(told.append)):
        wait_until_quiet(Report(told.append))
    assert told == []
    monkeypatch.setenv(VARIABLE, "soon")
    with pytest.raises(CallFailure, match="PARE_QUIET_SECONDS is 'soon', no number of seconds"):
        wait_until_quiet(silent_report())


def test_alert_if_busy_names_the_cores_that_others_took() -> None:
    events: list[dict[str, Any]] = []
    alert_if_busy(Report(events.append), 0.1, 0.3)
    assert events == []
    alert_if_busy(Report(events.append), 1.5, 2.0)
    assert events[0]["condition"] == "busy_machine"
    assert "1.5 of" in events[0]["evidence"]
