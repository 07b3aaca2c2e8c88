"""Tables that codecarbon ships: what a country's electricity emits, what a CPU draws.

The tables are read as files: importing codecarbon starts trackers that nobody asked for.
"""

from __future__ import annotations

import csv
import functools
import importlib.metadata
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.failures import CallFailure
from pare_backends.knobs import unknown_name
from pare_backends.machine import cpu_flags, cpu_name, cpuinfo

WATTS_PER_THREAD = 4.0
"""codecarbon's figure for a thread of a CPU that its table does not have."""


@dataclass(frozen=True)
class CarbonIntensity:
    """What a kilowatt-hour emits (`CarbonIntensity` of `core/schemas/energy.ts`)."""

    country: str | None
    """ISO 3166-1 alpha-3; None: the world's mean."""
    g_per_kwh: float
    year: int
    source: str


@dataclass(frozen=True)
class CpuPower:
    """Watts of one busy thread, and where the figure is from."""

    watts_per_thread: float
    source: str


UNKNOWN_CPU = CpuPower(WATTS_PER_THREAD, "codecarbon's mean")


@functools.cache
def _distribution() -> importlib.metadata.Distribution:
    return importlib.metadata.distribution("codecarbon")


def _table(name: str) -> Path:
    return Path(str(_distribution().locate_file(f"codecarbon/data/{name}")))


def _json(name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(_table(name).read_text(encoding="utf-8"))
    return table


def carbon_intensity(country: str | None) -> CarbonIntensity:
    """The mean over a country's year, the latest that the table has. Raises `CallFailure` for a
    country that is not in it."""
    version = f"codecarbon {_distribution().version}"
    if country is None:
        mean = _json("private_infra/carbon_intensity_per_source.json")
        found = re.search(r"(20\d\d)", mean["world_average_source"])
        year = int(found.group(1)) if found else 0
        return CarbonIntensity(None, float(mean["world_average"]), year, f"{version}, IEA")
    countries = _json("private_infra/global_energy_mix.json")
    row = countries.get(country.upper())
    if row is None or not row.get("carbon_intensity"):
        known = sorted(code for code, one in countries.items() if one.get("carbon_intensity"))
        raise CallFailure(
            "bad_input",
            # All 212 would bury the nearest.
            unknown_name("country", country, known).partition(" Known:")[0],
            hint="Countries are ISO 3166-1 alpha-3 codes, such as DEU, FRA or USA",
        )
    intensity, year = float(row["carbon_intensity"]), int(row["year"])
    return CarbonIntensity(country.upper(), intensity, year, f"{version}, {row['country_name']}")


def cpu_power() -> CpuPower:
    """Of this machine's CPU: its thermal design power over its threads. A virtual machine sees
    some threads of a CPU that others use too, and an unknown CPU has no row: both take
    codecarbon's mean."""
    name = cpu_name()
    if "hypervisor" in cpu_flags():
        return CpuPower(WATTS_PER_THREAD, f"{name} in a virtual machine, codecarbon's mean")
    watts = design_power(name)
    if watts is None:
        return CpuPower(WATTS_PER_THREAD, f"{name} is not in codecarbon's table, its mean")
    packages = len({p.get("physical id", "0") for p in cpuinfo()}) or 1
    threads = os.cpu_count() or 1
    return CpuPower(watts * packages / threads, f"{watts:g} W of {name} over its threads")


def design_power(model: str) -> float | None:
    """Thermal design power of a CPU by its own name, as codecarbon looks it up: the row of the
    same name, else the only one whose words the name holds. Watts; None: not in the table."""
    wanted = _words(model)
    exact: float | None = None
    inside: list[float] = []
    with _table("hardware/cpu_power.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            words = _words(row["Name"])
            if words == wanted:
                exact = float(row["TDP"])
            elif words <= wanted and len(words) > 1:
                inside.append(float(row["TDP"]))
    if exact is not None:
        return exact
    return inside[0] if len(inside) == 1 else None


def _words(name: str) -> frozenset[str]:
    """A CPU's name without trademarks, clock and what every name has."""
    plain = re.sub(r"\(R\)|\(TM\)|@.*$|\b(CPU|Processor|\d+-Core)\b", " ", name)
    return frozenset(plain.lower().split())
