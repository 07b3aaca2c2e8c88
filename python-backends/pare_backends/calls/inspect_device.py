"""Call `inspect_device`: what this machine is and has free. Gigabytes are 1e9 bytes."""

from __future__ import annotations

import importlib.util
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pare_backends.machine import (
    cpu_flags,
    cpu_name,
    free_disk_bytes,
    memory_bytes,
    physical_cores,
)
from pare_backends.measuring.energy import reader_name
from pare_backends.measuring.energy_tables import carbon_intensity, cpu_power
from pare_backends.progress import Report
from pare_backends.sandbox.verdict import sandbox_problem

GB = 1e9
BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
INSTRUCTIONS = BF16_FLAGS | {
    *("avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512_vnni", "avx512_fp16"),
    *("amx_int8", "amx_tile", "amx_fp16", "asimd", "asimddp", "asimdhp", "i8mm", "sve", "sve2"),
}
"""What decides how fast a runtime can multiply: x86's and ARM's names."""


@dataclass(frozen=True)
class Request:
    disk_path: str
    country: str | None = None


def run(request: Request, report: Report) -> dict[str, Any]:
    """DeviceFacts of `core/schemas/facts.ts`."""
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
        **({"gpus": torch.cuda.device_count()} if cuda else {}),
        "compute_capability": ".".join(map(str, torch.cuda.get_device_capability(0)))
        if cuda
        else None,
        "free_disk_gb": free_disk_bytes(Path(request.disk_path)) / GB,
        "bf16": bool(torch.cuda.is_bf16_supported()) if cuda else bool(BF16_FLAGS & cpu_flags()),
        "instructions": sorted(INSTRUCTIONS & cpu_flags()),
        "python_version": platform.python_version(),
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
