"""What a guest may use at most."""

from __future__ import annotations

import resource
from typing import NamedTuple


class Limits(NamedTuple):
    """Of one guest, and (`wall_seconds`, `output_bytes`) of what the host waits for and reads."""

    cpu_seconds: int = 5
    """Counts what the guest itself computed, so that a busy machine fails no program. A test of
    the benchmarks takes far below one second."""
    wall_seconds: float = 20.0
    """For both guests together: ends one that sleeps."""
    memory_bytes: int = 1 << 30
    """Of address space."""
    file_bytes: int = 1 << 20
    temporary_bytes: int = 16 << 20
    temporary_files: int = 1024
    """Each takes about 1.5 kB of the kernel's memory."""
    open_files: int = 32
    output_bytes: int = 4 << 20


def restrict(limits: Limits) -> None:
    """Limits this process for good: hard limits cannot be raised again. Called in the guest before
    it meets any code."""
    # The first ends the guest by a signal of its own; a guest may ignore that one, not the second.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    for name, amount in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(name, (amount, amount))
