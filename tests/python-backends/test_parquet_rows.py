"""Parquet files as strangers hand them out: rows, or one sentence before the memory is full."""

from __future__ import annotations

import resource
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from pare_backends.evaluation.published import parquet_rows as reading
from pare_backends.evaluation.published.parquet_rows import parquet_rows
from pare_backends.failures import CallFailure

ROWS = [
    {"question": "Two and two?", "rubrics": [{"says": "four"}], "weight": 1.5},
    {"question": "Three and two?", "rubrics": [], "weight": None},
]


def written(path: Path, columns: dict[str, pyarrow.Array]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="zstd")
    return path


def test_rows_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "year=2024"  # no column of a folder's name
    path.mkdir()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path / "rows.parquet")
    assert parquet_rows(path / "rows.parquet") == ROWS


def empty(count: int) -> pyarrow.Array:
    return pyarrow.nulls(count)


BOMBS = {
    "many rows": {"a": empty(1_200_000)},
    "a list of nulls": {"a": pyarrow.ListArray.from_arrays([0, 1_200_000], empty(1_200_000))},
    "nulls in a struct": {
        "a": pyarrow.StructArray.from_arrays(
            [pyarrow.ListArray.from_arrays([0, 1_200_000], empty(1_200_000))], ["b"]
        )
    },
    "one text again and again": {
        "a": pyarrow.DictionaryArray.from_arrays(
            pyarrow.array([0] * 1_000, pyarrow.int32()), pyarrow.array(["x" * 100_000])
        )
    },
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_the_memory_is_full(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 20_000_000)
    path = written(tmp_path / "bomb.parquet", BOMBS[name])
    assert path.stat().st_size < 1_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CallFailure, match=r"it holds more than (20 MB|1,000,000 values)"):
        parquet_rows(path)
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert more * 1024 < 100_000_000


def test_what_is_no_parquet_is_said(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 20 + b"PAR1")
    with pytest.raises(CallFailure, match=r"Cannot read .*rows\.parquet: "):
        parquet_rows(path)
