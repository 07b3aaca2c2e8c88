"""Per-sample results on a disk that fills: one failure under its own name, nothing half-written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from evaluation_fixtures import wire_task

from pare_backends.evaluation.outcome import SampleResult
from pare_backends.evaluation.samples_file import write_samples
from pare_backends.failures import classify


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB; only root may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "pare-test", str(disk)]
    mounted = os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0
    if not mounted:
        pytest.skip(
            "no small file system can be mounted here: run as root, with the right to mount"
        )
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def outcomes(count: int) -> list[Any]:
    """Samples of one task whose answers no compression makes short."""
    samples = [
        SampleResult(
            "t", str(n), os.urandom(32).hex(), "p", 1.0, os.urandom(256).hex(), "g", None, None
        )
        for n in range(count)
    ]
    return [SimpleNamespace(samples=samples, task=wire_task("last_words"))]


def test_a_full_disk_is_named_and_leaves_no_part_of_the_file(small_disk: Path) -> None:
    path = small_disk / "samples" / "full.parquet"
    with pytest.raises(OSError) as raised:
        write_samples(path, outcomes(2_000), 1_000)
    failure = classify(raised.value, "evaluate")
    assert failure.kind == "disk_full"
    assert failure.message.startswith("Cannot evaluate: no space left on the disk")
    assert failure.hint is not None and "Free space" in failure.hint
    assert list(path.parent.iterdir()) == []


def test_samples_that_are_there_stay_when_newer_ones_find_no_room(small_disk: Path) -> None:
    path = small_disk / "samples" / "full.parquet"
    write_samples(path, outcomes(100), 1_000)
    kept = path.read_bytes()
    with pytest.raises(OSError):
        write_samples(path, outcomes(2_000), 1_000)
    assert path.read_bytes() == kept
    assert [one.name for one in path.parent.iterdir()] == ["full.parquet"]
    write_samples(path, outcomes(50), 1_000)
    assert len(path.read_bytes()) < len(kept)
