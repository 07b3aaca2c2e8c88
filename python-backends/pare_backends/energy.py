"""Energy of a piece of work, with the way it was read.

`nvml-counter` and `rapl` are counters of the hardware over the whole device or package: what else
runs there is in them. `estimate` is arithmetic: 4 W for each thread that is busy (codecarbon's
figure for an unknown CPU), idle power and memory left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pare_backends import inspect_device

WATTS_PER_BUSY_THREAD = 4.0
WORLD_GRAMS_PER_KWH = 475.0
CO2_SOURCE = "475 g/kWh, world, IEA 2019"
JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True)
class EnergyReader:
    """`now()` is a count of joules whose differences are the energy used."""

    method: str  # nvml-counter, rapl, estimate
    provenance: str  # measured or estimated
    now: Callable[[], float]


def energy_reader(device: str) -> EnergyReader:
    """The best reader here for work on `device` (cpu or cuda)."""
    if device == "cuda":
        if inspect_device.nvml_reader() == "nvml-counter":
            return EnergyReader("nvml-counter", "measured", nvml_joules)
        return EnergyReader("estimate", "estimated", busy_joules)
    if rapl_zones(inspect_device.RAPL.parent.parent):
        return rapl_reader(inspect_device.RAPL.parent.parent)
    return EnergyReader("estimate", "estimated", busy_joules)


def busy_joules() -> float:
    """Joules that this process's CPU time stands for, all its threads together."""
    return time.process_time() * WATTS_PER_BUSY_THREAD


def nvml_joules() -> float:
    """Joules of the first GPU since its driver was loaded."""
    import pynvml

    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(device)) / 1000


def rapl_zones(root: Path) -> list[Path]:
    """Packages whose counter this process may read (root only since kernel 5.10)."""
    zones = sorted(root.glob("intel-rapl:[0-9]*"))
    return [
        zone
        for zone in zones
        if zone.name.count(":") == 1 and os.access(zone / "energy_uj", os.R_OK)
    ]


def rapl_reader(root: Path) -> EnergyReader:
    """Sum over the packages; a counter that wraps around between two readings is followed."""
    zones = rapl_zones(root)
    ranges = [int((zone / "max_energy_range_uj").read_text()) for zone in zones]
    last = [int((zone / "energy_uj").read_text()) for zone in zones]
    total = 0

    def now() -> float:
        nonlocal total
        for index, zone in enumerate(zones):
            value = int((zone / "energy_uj").read_text())
            total += (value - last[index]) % ranges[index]
            last[index] = value
        return total / 1e6

    return EnergyReader("rapl", "measured", now)


def idle_watts(reader: EnergyReader, seconds: float) -> float:
    """Power with nothing to do, to be subtracted; 0 for an estimate, which counts work alone."""
    if reader.provenance == "estimated":
        return 0.0
    before, started = reader.now(), time.perf_counter()
    time.sleep(seconds)
    return (reader.now() - before) / (time.perf_counter() - started)


def grams_of_co2(joules: float) -> float:
    """At the world's mean factor; the user's own grid may be ten times cleaner or twice worse."""
    return joules / JOULES_PER_KWH * WORLD_GRAMS_PER_KWH
