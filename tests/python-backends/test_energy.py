"""Energy readers, and the tables that estimates and CO2 are reckoned by."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from pare_backends.calls import inspect_device
from pare_backends.failures import CallFailure
from pare_backends.measuring import bandwidth, energy, energy_tables
from pare_backends.measuring.energy_tables import CpuPower

FOUR_WATTS = CpuPower(4.0, "a test")


def zone(folder: Path, name: str, microjoules: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text("262143328850\n")
    return folder


def test_rapl_adds_packages_and_their_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zeus.device.cpu
    from zeus.device.cpu import rapl

    first = zone(tmp_path / "intel-rapl:0", "package-0", 900_000)
    memory = zone(first / "intel-rapl:0:0", "dram", 10_000)
    zone(first / "intel-rapl:0:1", "core", 10_000)  # a part of the package: not counted twice
    second = zone(tmp_path / "intel-rapl:1", "package-1", 0)
    monkeypatch.setattr(rapl, "RAPL_DIR", str(tmp_path))
    monkeypatch.setattr(zeus.device.cpu, "_cpus", None)
    monkeypatch.setattr(energy, "RAPL_FOLDERS", (str(tmp_path),))
    rapl.rapl_is_available.cache_clear()
    assert energy.reader_name("cpu") == "rapl"
    reader = energy.energy_reader("cpu", FOUR_WATTS)
    assert (reader.method, reader.provenance) == ("rapl", "measured")
    before = reader.now()
    zone(first, "package-0", 1_200_000)
    zone(memory, "dram", 110_000)
    zone(first / "intel-rapl:0:1", "core", 9_000_000)
    zone(second, "package-1", 50_000)
    assert reader.now() - before == pytest.approx(0.3 + 0.1 + 0.05)
    rapl.rapl_is_available.cache_clear()


def test_without_counters_energy_is_estimated_from_the_cpus_watts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(energy, "RAPL_FOLDERS", (str(tmp_path / "none"),))
    reader = energy.energy_reader("cpu", FOUR_WATTS)
    assert (reader.method, reader.provenance) == ("estimate", "estimated")
    assert reader.how == "4 W a busy thread: a test"
    before = reader.now()
    time.sleep(0.2)
    waited = reader.now() - before
    until = time.process_time() + 0.1
    while time.process_time() < until:
        np.dot(np.ones(1000), np.ones(1000))
    worked = reader.now() - before - waited
    assert worked >= 0.1 * 4.0
    assert waited < worked / 2
    assert energy.idle_watts(reader, 10.0) == 0.0


def test_a_kilowatt_hour_emits_what_its_country_does() -> None:
    world = energy_tables.carbon_intensity(None)
    assert (world.country, world.g_per_kwh, world.year) == (None, 475.0, 2019)
    assert energy.grams_of_co2(3.6e6, world.g_per_kwh) == 475.0
    germany = energy_tables.carbon_intensity("deu")
    assert (germany.country, germany.g_per_kwh, germany.year) == ("DEU", 380.95, 2023)
    assert germany.source == "codecarbon 3.3.2, Germany"
    assert energy_tables.carbon_intensity("SWE").g_per_kwh == pytest.approx(40.695)


def test_an_unknown_country_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        CallFailure, match=r'^Unknown country "DEUX"[.] Did you mean "DEU"[?]$'
    ) as it:
        energy_tables.carbon_intensity("DEUX")
    assert it.value.hint is not None and "alpha-3" in it.value.hint


@pytest.mark.parametrize(
    ("model", "watts"),
    [
        ("AMD EPYC 7763 64-Core Processor", 280.0),
        ("Intel(R) Xeon(R) Gold 6430 CPU @ 2.10GHz", 270.0),
        ("AMD Ryzen 9 7950X 16-Core Processor", 170.0),
        ("AMD EPYC", None),
        ("Mystery 9000", None),
    ],
)
def test_a_cpus_design_power_is_its_row_of_the_table(model: str, watts: float | None) -> None:
    assert energy_tables.design_power(model) == watts


def test_a_thread_of_a_virtual_machine_takes_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy_tables, "cpu_name", lambda: "AMD EPYC 7763 64-Core Processor")
    monkeypatch.setattr(energy_tables, "cpuinfo", lambda: [{"physical id": "0"}] * 128)
    monkeypatch.setattr(energy_tables.os, "cpu_count", lambda: 128)
    monkeypatch.setattr(energy_tables, "cpu_flags", lambda: {"hypervisor"})
    assert energy_tables.cpu_power().watts_per_thread == 4.0
    monkeypatch.setattr(energy_tables, "cpu_flags", lambda: {"avx2"})
    power = energy_tables.cpu_power()
    assert power.watts_per_thread == pytest.approx(280 / 128)
    assert "280 W of AMD EPYC 7763" in power.source


def test_bandwidth_meter_is_that_of_memory() -> None:
    measured = bandwidth.bandwidth_meter(1)()
    assert 1e9 < measured < 1e12


def test_the_machines_facts_hold_both(tmp_path: Path) -> None:
    from pare_backends.progress import silent_report

    facts = inspect_device.run(inspect_device.Request(str(tmp_path), "FRA"), silent_report())
    assert facts["carbon_intensity"]["country"] == "FRA"
    assert facts["cpu_power"]["watts_per_thread"] > 0
