"""One timing at a time, on a machine with nothing else to do."""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pare_backends.failures import CallFailure
from pare_backends.progress import Report

BUSY_CORES = 0.25
"""Cores that others may use before a timing is called disturbed."""
WAIT_SECONDS = 4.0
VARIABLE = "PARE_QUIET_SECONDS"
"""How long a timing waits for a quiet machine, where not WAIT_SECONDS. 0: it takes the machine as
it is, another timing beside it too: for a machine that is never quiet, and for tests that look at
no figure."""
SAMPLE_SECONDS = 0.4
DEVICE = "PARE_TIMED_DEVICE"
"""The one device that this process has to itself, where not the machine."""


def quiet_seconds() -> float:
    """How long a timing waits for a quiet machine."""
    asked = os.environ.get(VARIABLE)
    if asked is None:
        return WAIT_SECONDS
    try:
        seconds = float(asked)
    except ValueError:
        seconds = math.nan
    if 0 <= seconds < math.inf:
        return seconds
    raise CallFailure(
        "bad_input",
        f"Cannot time generation: {VARIABLE} is {asked!r}, no number of seconds",
        hint=f"Set it to 0 or more, or not at all ({WAIT_SECONDS:g})",
    )


@contextmanager
def timing_lock(report: Report) -> Iterator[None]:
    """Holds this user's lock on the machine's clock; waits for the client's other work to rest, and
    for another timing to end."""
    report.take_turn()
    if quiet_seconds() == 0:
        yield
        return
    # Not in $TMPDIR: every worker has one of its own.
    path = Path("/tmp") / f"pare-timing-{os.getuid()}.lock"
    own = os.environ.get(DEVICE)
    with path.open("w") as machine:
        if own is None:
            _wait_for(machine.fileno(), fcntl.LOCK_EX, report)
            yield
            return
        # Beside timings on other devices, not beside one of the whole machine.
        _wait_for(machine.fileno(), fcntl.LOCK_SH, report)
        with path.with_name(f"pare-timing-{os.getuid()}-{own}.lock").open("w") as device:
            _wait_for(device.fileno(), fcntl.LOCK_EX, report)
            yield


def _wait_for(descriptor: int, lock: int, report: Report) -> None:
    waited = 0
    while not _try_lock(descriptor, lock):
        report.progress(f"wait for another timing{_holder(descriptor)}", waited, None, "s")
        time.sleep(1)
        waited += 1


def _holder(descriptor: int) -> str:
    """Whose timing it is; nothing where the machine does not tell. One that is stopped, as by
    Ctrl-Z, holds the lock for as long."""
    own = str(os.fstat(descriptor).st_ino)
    try:
        # "1: FLOCK  ADVISORY  WRITE 28354 fe:00:2146562 0 EOF"; behind "->" stands who waits.
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        pid = next(f[4] for f in locks if f[1] == "FLOCK" and f[5].split(":")[-1] == own)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, StopIteration, IndexError):
        return ""
    stopped = f", which is stopped: let it go on by kill -CONT {pid}" if state == "T" else ""
    return f" (process {pid}{stopped})"


def _try_lock(descriptor: int, lock: int) -> bool:
    try:
        fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def foreign_meter() -> Callable[[], float]:
    """A meter: called later, it tells how many cores others kept busy since it was made.

    Time that a hypervisor gave to other guests counts as busy. 0 where there is no /proc/stat.
    """
    busy, own, started = _busy_seconds(), time.process_time(), time.perf_counter()

    def read() -> float:
        seconds = time.perf_counter() - started
        others = (_busy_seconds() - busy) - (time.process_time() - own)
        return max(0.0, others / seconds)

    return read


def _busy_seconds() -> float:
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    except OSError:
        return time.process_time()
    user, nice, system, _idle, _wait, irq, soft, steal = (int(field) for field in fields)
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet(report: Report) -> None:
    """Waits a few seconds at most for other work to end."""
    deadline = time.monotonic() + quiet_seconds()
    while time.monotonic() < deadline:
        meter = foreign_meter()
        time.sleep(SAMPLE_SECONDS)
        if meter() <= BUSY_CORES:
            return
        report.progress("wait for a quiet machine", 0, None, "s")


def disturbance(cores: float) -> float | None:
    """Cores that other work took of a timing; None: too few to matter, or nobody waits for less."""
    return cores if cores > BUSY_CORES and quiet_seconds() > 0 else None


def alert_if_busy(report: Report, cores: float, load: float) -> None:
    """Says that other work disturbed a timing, with the cores it took."""
    if cores > BUSY_CORES:
        report.alert(
            "busy_machine",
            f"{cores:.1f} of {os.cpu_count()} cores did other work during the timing "
            f"(load average {load:.1f}): latencies are too high and uncertain",
        )
