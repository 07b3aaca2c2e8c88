"""Energy readers and the factor of CO2."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from pare_backends import bandwidth, energy


def zone(root: Path, name: str, microjoules: int) -> Path:
    folder = root / name
    folder.mkdir(exist_ok=True)
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text("1000000\n")
    return folder


def test_rapl_reader_adds_packages_and_follows_a_wrapped_counter(tmp_path: Path) -> None:
    first = zone(tmp_path, "intel-rapl:0", 900_000)
    zone(tmp_path, "intel-rapl:1", 0)
    zone(tmp_path, "intel-rapl:0:0", 0)  # a part of the first package: not counted twice
    reader = energy.rapl_reader(tmp_path)
    assert reader.provenance == "measured"
    assert reader.now() == 0
    zone(tmp_path, "intel-rapl:1", 300_000)
    zone(tmp_path, "intel-rapl:0:0", 500_000)
    (first / "energy_uj").write_text("100000\n")
    assert reader.now() == pytest.approx(0.2 + 0.3)


def test_estimate_counts_work_and_not_waiting() -> None:
    reader = energy.EnergyReader("estimate", "estimated", energy.busy_joules)
    before = reader.now()
    time.sleep(0.2)
    waited = reader.now() - before
    until = time.process_time() + 0.1
    while time.process_time() < until:
        np.dot(np.ones(1000), np.ones(1000))
    worked = reader.now() - before - waited
    assert worked >= 0.1 * energy.WATTS_PER_BUSY_THREAD
    assert waited < worked / 2
    assert energy.idle_watts(reader, 10.0) == 0.0


def test_grams_of_co2_of_a_kilowatt_hour_are_the_worlds_mean() -> None:
    assert energy.grams_of_co2(3.6e6) == 475.0


def test_read_bandwidth_is_that_of_memory() -> None:
    measured = bandwidth.read_bandwidth(1)
    assert 1e9 < measured < 1e12
