"""A timing is made again where the machine itself did not keep still: its clock was set, or it was
too hot."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pare_backends.measuring.quiet import quiet_seconds
from pare_backends.progress import Report

CPUS = Path("/sys/devices/system/cpu")
JUMP_SECONDS = 1.0
"""Clocks drift apart by less in an hour; one that is set, or a machine that slept, by more."""

Made = TypeVar("Made")


def time_steadily(make: Callable[[], Made], report: Report) -> Made:
    """What `make` times, made a second time where the first was upset; both are said.

    Times are of a clock that nobody can set. Yet a machine whose clock jumped may have slept, and
    one that was too hot ran slower than it does.
    """
    for again in (False, True):
        upset = upset_meter()
        made = make()
        found = upset() if quiet_seconds() > 0 else []
        for condition, evidence in found:
            became = "so did the first timing: it stays so" if again else "it is timed again"
            report.alert(condition, f"{evidence}; {became}")
        if not found:
            break
    return made


def upset_meter() -> Callable[[], list[tuple[str, str]]]:
    """A meter: called later, it tells what upset the machine since: conditions, with evidence."""
    hot, clock, started = _throttled(), time.time(), time.monotonic()

    def read() -> list[tuple[str, str]]:
        found = []
        jumped = (time.time() - clock) - (time.monotonic() - started)
        if abs(jumped) > JUMP_SECONDS:
            evidence = f"the machine's clock jumped by {jumped:+.1f} s during the timing"
            found.append(("clock_jump", evidence))
        times = _throttled() - hot
        if times > 0:
            evidence = (
                f"the processor was too hot and slowed itself {times} times during the timing"
            )
            found.append(("thermal_throttling", evidence))
        return found

    return read


def _throttled() -> int:
    """How often this machine's cores and packages slowed themselves; 0 where nobody counts it."""
    total = 0
    for path in CPUS.glob("cpu[0-9]*/thermal_throttle/*_throttle_count"):
        try:
            total += int(path.read_text())
        except (OSError, ValueError):
            continue  # of a core that was taken away meanwhile
    return total
