"""Energy of a piece of work, with the way it was read.

`nvml-counter`, `nvml-power` and `rapl` are zeus's readings of the whole device or package: what
else runs there is in them. `estimate` is arithmetic: the watts of a busy thread (`energy_tables`)
over the CPU time of this process, idle power and memory left out.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.measuring.energy_tables import CpuPower

JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True)
class EnergyReader:
    """`now()` is a count of joules whose differences are the energy used."""

    method: str  # nvml-counter, nvml-power, rapl, estimate
    provenance: str  # measured or estimated
    now: Callable[[], float]
    how: str  # what it counts, in words


def energy_reader(device: str, power: CpuPower) -> EnergyReader:
    """The best reader here for work on `device` (cpu or cuda); an estimate counts with `power`."""
    name = reader_name(device)
    if name == "nvml-counter":
        gpus = _gpus()
        return EnergyReader(
            name,
            "measured",
            lambda: float(gpus.get_total_energy_consumption(0)) / 1000,
            "zeus, the whole GPU",
        )
    if name == "nvml-power":
        return _integrated_power()
    if name == "rapl":
        return _rapl()
    return estimate_reader(power)


def reader_name(device: str) -> str:
    """Of the best reader here; zeus is imported only where it may find something."""
    if device == "cuda":
        gpus = _gpus()
        if gpus is None:
            return "estimate"
        counts = gpus.supports_get_total_energy_consumption(0)
        return "nvml-counter" if counts else "nvml-power"
    return "estimate" if _packages() is None else "rapl"


def _gpus() -> Any:
    """zeus's door to the GPUs; None where no driver answers, or without zeus."""
    if importlib.util.find_spec("zeus") is None:
        return None
    from zeus.device import get_gpus
    from zeus.device.exception import ZeusBaseGPUError

    try:
        return get_gpus()
    except ZeusBaseGPUError:
        return None


def _integrated_power() -> EnergyReader:
    """For a GPU without a counter: its power, sampled by a process of zeus's and integrated."""
    from zeus.monitor.power import PowerMonitor

    monitor = PowerMonitor(gpu_indices=[0])
    started = time.time()

    def now() -> float:
        return float((monitor.get_energy(started, time.time()) or {0: 0.0})[0])

    return EnergyReader("nvml-power", "measured", now, "zeus, the whole GPU's power integrated")


RAPL_FOLDERS = ("/sys/class/powercap/intel-rapl", "/zeus_sys/class/powercap/intel-rapl")
"""Where zeus looks; the second is a container's."""


def _packages() -> Any:
    """zeus's door to the CPU packages; None without counters, without the right to read them
    (root only since kernel 5.10), or without zeus."""
    if not any(Path(folder).exists() for folder in RAPL_FOLDERS):
        return None
    if importlib.util.find_spec("zeus") is None:
        return None
    from zeus.device import get_cpus
    from zeus.device.exception import ZeusBaseCPUError

    try:
        cpus = get_cpus()
    except (ZeusBaseCPUError, OSError):
        return None
    return cpus if len(cpus) > 0 else None


def _rapl() -> EnergyReader:
    """Sum over packages and their memory; zeus follows a counter that wraps around."""
    cpus = _packages()

    def now() -> float:
        read = [cpus.get_total_energy_consumption(index) for index in range(len(cpus))]
        return sum(one.cpu_mj + (one.dram_mj or 0.0) for one in read) / 1000

    return EnergyReader("rapl", "measured", now, "zeus, the whole CPU package with its memory")


def estimate_reader(power: CpuPower) -> EnergyReader:
    """Joules that this process's CPU time stands for, all its threads together."""

    def now() -> float:
        return time.process_time() * power.watts_per_thread

    how = f"{power.watts_per_thread:.3g} W a busy thread: {power.source}"
    return EnergyReader("estimate", "estimated", now, how)


def idle_watts(reader: EnergyReader, seconds: float) -> float:
    """Power with nothing to do, to be subtracted; 0 for an estimate, which counts work alone."""
    if reader.provenance == "estimated":
        return 0.0
    before, started = reader.now(), time.perf_counter()
    time.sleep(seconds)
    return (reader.now() - before) / (time.perf_counter() - started)


def grams_of_co2(joules: float, g_per_kwh: float) -> float:
    """Of electricity that emits so much a kilowatt-hour."""
    return joules / JOULES_PER_KWH * g_per_kwh
