"""What this machine is, as its kernel tells it: processor, memory, disk."""

from __future__ import annotations

import math
import os
import platform
import shutil
from pathlib import Path


def cpuinfo() -> list[dict[str, str]]:
    """/proc/cpuinfo, one dict a logical processor; empty where there is none."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return []
    blocks = [block.splitlines() for block in text.strip().split("\n\n")]
    return [
        {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in block)}
        for block in blocks
    ]


def cpu_name() -> str:
    """The processor's name as it gives it itself."""
    names = (p.get("model name") or p.get("Hardware") for p in cpuinfo())
    return next((name for name in names if name), None) or platform.processor() or "unknown CPU"


def cpu_flags() -> set[str]:
    """Instruction-set flags of the first processor."""
    first = next(iter(cpuinfo()), {})
    return set((first.get("flags") or first.get("Features") or "").split())


def physical_cores() -> int:
    """Cores, hyper-threads not counted, that this process may use; at least 1."""
    try:
        allowed = os.sched_getaffinity(0)
    except AttributeError:
        return max(1, (os.cpu_count() or 2) // 2)
    cores = {
        (p.get("physical id", "0"), p.get("core id", p.get("processor")))
        for p in cpuinfo()
        if int(p.get("processor", -1)) in allowed
    }
    return max(1, min(len(cores) or len(allowed), cpu_quota()))


def cpu_quota() -> int:
    """Whole processors that the container's quota allows, rounded up."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return 1 << 16
    return 1 << 16 if quota == "max" else max(1, math.ceil(int(quota) / int(period)))


def memory_bytes() -> tuple[int, int]:
    """Total and available host memory; the container's limit counts where it is smaller."""
    info = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        key, _, rest = line.partition(":")
        info[key] = int(rest.split()[0]) * 1024
    total, available = info["MemTotal"], info["MemAvailable"]
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        # Page cache counts as used there, though it is given back on demand.
        stat = (group / "memory.stat").read_text().splitlines()
        cache = next(int(line.split()[1]) for line in stat if line.startswith("inactive_file "))
    except (OSError, ValueError, StopIteration):
        return total, available
    return min(total, limit), min(available, max(0, limit - used + cache))


def free_disk_bytes(path: Path) -> int:
    """Free bytes where `path` is, or will be once it is made."""
    there = next(p for p in (path, *path.absolute().parents) if p.exists())
    return shutil.disk_usage(there).free
