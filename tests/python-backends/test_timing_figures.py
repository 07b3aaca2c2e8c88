"""Figures of a timing against values worked out by hand, and against clocks and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pare_backends.measuring.bandwidth import bandwidth_meter
from pare_backends.measuring.energy import EnergyReader, idle_watts
from pare_backends.measuring.energy_tables import CarbonIntensity
from pare_backends.measuring.speed_figures import (
    Timed,
    Timing,
    energy_reading,
    energy_rows,
    ratio_rows,
    timing_rows,
)
from pare_backends.measuring.timing import LOOKED_AT, Z975, Pass, time_pass
from pare_backends.runtimes.session import Numerics


class SleepingSession:
    """Reads a prompt in 60 ms and makes a token in 20 ms."""

    numerics = Numerics("f32", "f32", 0)
    device = "cpu"
    provenance = "measured"
    bytes_read_per_token = 1
    notes = ()

    def prefill(self, tokens: np.ndarray) -> int:
        time.sleep(0.06)
        return 0

    def decode(self, token: int) -> int:
        time.sleep(0.02)
        return token

    def gpu_peak_bytes(self) -> int | None:
        return None


def watts(power: float) -> EnergyReader:
    """A counter of a machine that always draws so much."""
    return EnergyReader("rapl", "measured", lambda: power * time.perf_counter(), "a test")


TIMING = Timing(
    runtime="transformers",
    prompt_tokens=10,
    new_tokens=20,
    warm_up_tokens=2,
    seed=0,
    busy_cores=None,
    load=0.0,
    reader=watts(1.0),
    idle_watts=0.0,
    carbon_intensity=CarbonIntensity("XXX", 360.0, 2026, "a test"),
)
PASSES = [Pass(0.5, 0.2, 6.0), Pass(0.5, 0.2, 8.0)]


def by_metric(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in rows}


def test_times_of_a_token_and_rates_are_those_of_the_passes() -> None:
    """0.2 s for 20 tokens are 10 ms per token and 100 per second; 0.5 s for 10: 50, 20."""
    rows = by_metric(timing_rows(TIMING, SleepingSession(), PASSES, "a form"))
    assert {metric: row["value"] for metric, row in rows.items()} == pytest.approx(
        {
            "latency_ms": 10.0,
            "decode_tokens_per_s": 100.0,
            "prefill_ms_per_token": 50.0,
            "prefill_tokens_per_s": 20.0,
        }
    )


def test_energy_and_co2_are_of_a_thousand_tokens() -> None:
    """7 J for 20 tokens are 350 J for 1,000; a kWh is 3.6 MJ: 350 J of 360 g/kWh emit 0.035 g."""
    rows = by_metric(energy_rows(TIMING, SleepingSession(), PASSES))
    energy, co2 = rows["energy_j_per_1k_tokens"], rows["co2_g_per_1k_tokens"]
    assert energy["value"] == pytest.approx(350)
    assert energy["standard_error"] == pytest.approx(50)  # of 300 and 400
    assert co2["value"] == pytest.approx(0.035)
    assert co2["standard_error"] == pytest.approx(0.005)
    reading = energy_reading(TIMING, PASSES)
    assert (reading["joules"], reading["tokens"]) == (14.0, 40)
    assert reading["seconds"] == pytest.approx(0.4)


@pytest.mark.parametrize("reader", ["measured", "estimated"])
def test_energy_of_what_is_emulated_is_no_measurement(reader: str) -> None:
    session = SleepingSession()
    session.provenance = "emulated"
    timing = replace(TIMING, reader=replace(TIMING.reader, provenance=reader))
    rows = energy_rows(timing, session, PASSES)
    found = {row["provenance"] for row in rows}
    assert found == {"emulated" if reader == "measured" else "estimated"}


def timed(decode: list[float], prefill: float, joules: float, provenance: str) -> Timed:
    session = SleepingSession()
    session.provenance = provenance
    passes = [Pass(prefill, seconds, joules) for seconds in decode]
    return Timed(session, f"form {provenance}", passes, passes)


def test_ratios_are_those_of_the_passes_made_beside_each_other() -> None:
    """A machine that slows down twofold in the middle: every pair says one half, where times of
    other minutes would say from a quarter to one."""
    own = timed([1.0, 1.02, 2.0, 2.1, 1.96], 0.3, 6.0, "measured")
    base = timed([2.0, 2.0, 4.0, 4.0, 4.0], 0.6, 8.0, "measured")
    rows = by_metric(ratio_rows(TIMING, own, base))
    latency, prefill = rows["latency_ratio"], rows["prefill_ratio"]
    # Without the least and the largest two say one half, and one 2 % more; the ends drawn in, the
    # variance is 1.2 x² / (3 · 2) of x = ln 1.02, and of three values t is 4.303.
    x = np.log(1.02)
    assert latency["value"] == pytest.approx(0.5 * np.exp(x / 3))
    assert latency["n"] == 5
    assert latency["form"] == "form measured"
    wanted = latency["value"] * x * np.sqrt(0.2) * 4.303 / Z975 * LOOKED_AT
    assert latency["standard_error"] == pytest.approx(wanted)
    assert latency["spread"]["maximum"] == pytest.approx(2.1 / 4)
    assert prefill["value"] == pytest.approx(0.5)
    assert rows["energy_ratio"]["value"] == pytest.approx(0.75)


def test_the_ratio_of_what_is_emulated_is_emulated_and_of_an_estimate_there_is_none() -> None:
    own, base = timed([1.0, 1.0], 0.3, 6.0, "emulated"), timed([2.0, 2.0], 0.6, 8.0, "measured")
    estimating = replace(TIMING, reader=replace(TIMING.reader, provenance="estimated"))
    rows = by_metric(ratio_rows(estimating, own, base))
    assert set(rows) == {"latency_ratio", "prefill_ratio"}
    assert {row["provenance"] for row in rows.values()} == {"emulated"}


def test_a_pass_times_prompt_and_tokens_apart_and_takes_idle_power_off() -> None:
    """Five tokens of 20 ms, after a prompt whose 60 ms count for neither; 10 W less 4 W idle."""
    timed = time_pass(SleepingSession(), np.arange(10), 5, watts(10.0), 4.0)
    assert 0.06 <= timed.prefill_seconds < 0.1
    assert 0.1 <= timed.decode_seconds < 0.15
    assert timed.joules == pytest.approx(6.0 * timed.decode_seconds, rel=0.05)


def test_idle_power_is_joules_a_second() -> None:
    assert idle_watts(watts(5.0), 0.1) == pytest.approx(5.0, rel=0.05)


def test_peak_memory_is_in_bytes() -> None:
    """A process that fills 256 MiB more than ever before has a peak that is so much higher."""
    program = (
        "from pare_backends.calls.speed import peak_memory\n"
        "before = peak_memory()\n"
        "block = b'x' * (256 << 20)\n"
        "print(peak_memory() - before)"
    )
    command = [sys.executable, "-c", program]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    # Pages that the interpreter had free already are a few hundred thousand bytes.
    assert grown == pytest.approx(256 << 20, rel=0.01)


def test_bandwidth_is_near_what_torch_reads() -> None:
    """A sum of an array that no cache holds, by one thread; bits for bytes would be eight times."""
    import torch

    values = torch.ones(1 << 26)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        best = float("inf")
        for _ in range(5):
            started = time.perf_counter()
            values.sum()
            best = min(best, time.perf_counter() - started)
    finally:
        torch.set_num_threads(threads)
    oracle = values.nbytes / best
    assert oracle / 4 < bandwidth_meter(1)() < 4 * oracle
