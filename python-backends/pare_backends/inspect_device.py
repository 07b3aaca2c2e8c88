"""Stage `inspect_device`: what this machine is and has free. Gigabytes are 1e9 bytes."""

from __future__ import annotations

import importlib.util
import math
import os
import platform
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pare_backends.progress import Report
from pare_backends.sandbox.judge import sandbox_problem

GB = 1e9
BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}


@dataclass(frozen=True)
class Request:
    disk_path: str
    country: str | None = None


def run(request: Request, report: Report) -> dict[str, Any]:
    """DeviceFacts of `core/schemas/facts.ts`."""
    from pare_backends.energy import reader_name
    from pare_backends.energy_tables import carbon_intensity, cpu_power

    carbon = asdict(carbon_intensity(request.country))
    torch = import_torch()
    cuda = torch is not None and torch.cuda.is_available()
    total, free = memory_bytes()
    vram = torch.cuda.mem_get_info() if cuda else None  # (free, total)
    return {
        "device": "cuda" if cuda else "cpu",
        "device_name": torch.cuda.get_device_name(0) if cuda else cpu_name(),
        "cores": physical_cores(),
        "memory_gb": total / GB,
        "free_memory_gb": free / GB,
        "vram_gb": vram[1] / GB if vram else None,
        "free_vram_gb": vram[0] / GB if vram else None,
        "compute_capability": ".".join(map(str, torch.cuda.get_device_capability(0)))
        if cuda
        else None,
        "free_disk_gb": free_disk_bytes(Path(request.disk_path)) / GB,
        "bf16": bool(torch.cuda.is_bf16_supported()) if cuda else bool(BF16_FLAGS & cpu_flags()),
        "torch_version": torch.__version__ if torch is not None else "none",
        "torch_build": torch_build(torch),
        "energy_reader": reader_name("cuda" if cuda else "cpu"),
        "cpu_power": asdict(cpu_power()),
        "carbon_intensity": carbon,
        "platform": platform.platform(),
        "sandbox_problem": sandbox_problem(),
    }


def import_torch() -> Any:
    """torch, or None where the environment has none."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch


def torch_build(torch: Any) -> str:
    """What torch was built for, whether or not such a device is here."""
    if torch is None or (torch.version.cuda is None and torch.version.hip is None):
        return "cpu"
    return "rocm" if torch.version.hip is not None else "cuda"


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
