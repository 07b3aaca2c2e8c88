"""Files that a journal names once they are written: on disk before they have their name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from evaluation_fixtures import wire_task

from pare_backends.evaluation.calibration import write_windows
from pare_backends.evaluation.outcome import SampleResult
from pare_backends.evaluation.samples_file import write_samples


def _samples(path: Path) -> None:
    sample = SampleResult("t", "0", "h", "p", 1.0, "a", "g", None, None)
    outcomes: list[Any] = [SimpleNamespace(samples=[sample], task=wire_task("last_words"))]
    write_samples(path, outcomes, 100)


def _windows(path: Path) -> None:
    path.parent.mkdir()
    write_windows(path, np.zeros((1, 4), np.int32), ["w"])


@pytest.mark.parametrize("write", [_samples, _windows])
def test_a_file_is_on_disk_before_it_has_its_name_and_its_name_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def named(self: Path, target: Path) -> Path:
        done.append(f"{self.name} to {target.name}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", named)
    write(tmp_path / "samples" / "one.parquet")
    partial = "one.parquet.partial"
    assert done == [partial, f"{partial} to one.parquet", "samples", tmp_path.name]
