"""One timing at a time, on a machine that is quiet."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from pare_backends.failures import CallFailure
from pare_backends.measuring.quiet import (
    DEVICE,
    VARIABLE,
    alert_if_busy,
    timing_lock,
    wait_until_quiet,
)
from pare_backends.progress import Report, silent_report


class Waiting:
    """A timing in a thread, and whether it waits for another or is in."""

    def __init__(self) -> None:
        self.waits, self.is_in = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._time)
        self._thread.start()

    def _time(self) -> None:
        def told(event: dict[str, Any]) -> None:
            if event["event"] == "progress":
                self.waits.set()

        with timing_lock(Report(told)):
            self.is_in.set()

    def comes_in(self) -> bool:
        self._thread.join(120)  # another process of this user may time something meanwhile
        return self.is_in.is_set()


def test_timing_lock_lets_one_timing_in_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with timing_lock(silent_report()):
        second = Waiting()
        assert second.waits.wait(120)
        assert not second.is_in.is_set()
    assert second.comes_in()


def test_who_waits_is_told_whose_timing_it_is_and_that_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    program = (
        "from pare_backends.measuring.quiet import timing_lock\n"
        "from pare_backends.progress import silent_report\n"
        "with timing_lock(silent_report()):\n"
        "    print('in', flush=True)\n"
        "    input()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None and holder.stdout is not None
    assert holder.stdout.readline() == "in\n"
    said: list[str] = []

    def told(event: dict[str, Any]) -> None:
        if event["event"] != "progress":
            return
        said.append(event["label"])
        if "stopped" in said[-1]:
            holder.send_signal(signal.SIGCONT)
            holder.stdin.write("\n")
            holder.stdin.flush()
        else:
            holder.send_signal(signal.SIGSTOP)

    with timing_lock(Report(told)):
        pass
    assert holder.wait(60) == 0
    assert said[0] == f"wait for another timing (process {holder.pid})"
    assert any(f"stopped: let it go on by kill -CONT {holder.pid})" in one for one in said)


def test_timings_on_two_devices_go_side_by_side_and_none_beside_the_machine_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv(DEVICE, "gpu-1")
    with timing_lock(silent_report()):
        monkeypatch.setenv(DEVICE, "gpu-2")
        with timing_lock(silent_report()):
            pass
        monkeypatch.delenv(DEVICE)
        machine = Waiting()
        assert machine.waits.wait(120)
        assert not machine.is_in.is_set()
    assert machine.comes_in()


def test_a_timing_that_waits_for_nobody_takes_the_machine_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    told: list[dict[str, Any]] = []
    with timing_lock(Report(told.append)), timing_lock(Report(told.append)):
        wait_until_quiet(Report(told.append))
    assert told == [{"event": "turn"}] * 2
    monkeypatch.setenv(VARIABLE, "soon")
    with pytest.raises(CallFailure, match="PARE_QUIET_SECONDS is 'soon', no number of seconds"):
        wait_until_quiet(silent_report())


def test_alert_if_busy_names_the_cores_that_others_took() -> None:
    events: list[dict[str, Any]] = []
    alert_if_busy(Report(events.append), 0.1, 0.3)
    assert events == []
    alert_if_busy(Report(events.append), 1.5, 2.0)
    assert events[0]["condition"] == "busy_machine"
    assert "1.5 of" in events[0]["evidence"]
