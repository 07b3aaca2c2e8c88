"""What is done about a timing during which the machine did not keep still."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from pare_backends.measuring import steady
from pare_backends.measuring.quiet import VARIABLE
from pare_backends.progress import Report


def test_a_timing_is_made_again_where_the_clock_jumps_or_the_processor_is_too_hot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(steady, "CPUS", tmp_path)
    count = tmp_path / "cpu0" / "thermal_throttle" / "core_throttle_count"
    count.parent.mkdir(parents=True)
    count.write_text("7\n")
    off = 0.0
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + off)
    made = 0

    def timed(upsets: list[str]) -> tuple[int, list[str]]:
        nonlocal off, made
        made = 0

        def make() -> int:
            nonlocal off, made
            made += 1
            now = upsets[made - 1]
            off += 3600 if now == "clock" else 0
            count.write_text(str(int(count.read_text()) + (2 if now == "hot" else 0)))
            return made

        told: list[dict[str, Any]] = []
        kept = steady.time_steadily(make, Report(told.append))
        return kept, [f"{one['condition']}: {one['evidence']}" for one in told]

    assert timed(["still"]) == (1, [])
    kept, said = timed(["clock", "still"])
    assert (kept, len(said)) == (2, 1)
    assert said[0].startswith("clock_jump: the machine's clock jumped by +3600.0 s")
    assert said[0].endswith("it is timed again")
    kept, said = timed(["hot", "hot"])
    assert (kept, len(said)) == (2, 2)
    assert "thermal_throttling: the processor was too hot and slowed itself 2 times" in said[1]
    assert said[1].endswith("it stays so")
    monkeypatch.setenv(VARIABLE, "0")
    assert timed(["hot"]) == (1, [])
