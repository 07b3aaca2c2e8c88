"""Rows of a Parquet file. A few kilobytes of one may stand for billions of values, so it is read in
small pieces, and no further than its limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure, one_line
from pare_backends.plain_file import require_file

MOST_BYTES = 200_000_000
"""Unpacked. The published sets that are read here take a tenth at most."""
MOST_VALUES = 1_000_000
MOST_AT_ONCE = 1024
"""Rows that are unpacked together; fewer where each might be as long as the whole file."""


class _TooLarge(ValueError):
    pass


def parquet_rows(path: Path) -> list[Row]:
    """The rows in their order. Raises `CallFailure`."""
    import pyarrow.parquet

    require_file(path)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            said = file.metadata
            groups = (said.row_group(number) for number in range(said.num_row_groups))
            unpacked = sum(group.total_byte_size for group in groups)
            _check(unpacked, said.num_rows)
            return list(_rows(file, min(MOST_AT_ONCE, MOST_BYTES // max(1, unpacked))))
    except (OSError, ValueError, OverflowError, MemoryError, pyarrow.ArrowException) as error:
        raise CallFailure("bad_input", f"Cannot read {path}: {one_line(error, 160)}") from error


def _rows(file: Any, at_once: int) -> Iterator[Row]:
    import pyarrow

    held, values = 0, 0
    for piece in file.iter_batches(batch_size=max(1, at_once)):
        plain = [
            column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column
            for column in piece.columns
        ]
        held += sum(column.nbytes for column in plain)
        values += sum(_values(column) for column in plain)
        _check(held, values)
        yield from pyarrow.RecordBatch.from_arrays(plain, piece.schema.names).to_pylist()


def _values(column: Any) -> int:
    """How many values a column has, those in its lists counted: nulls take no bytes."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_struct(kind):
        return len(column) + sum(_values(inner) for inner in column.flatten())
    if pyarrow.types.is_nested(kind) and hasattr(column, "values"):
        return len(column) + _values(column.values)
    return len(column)


def _check(held: int, values: int) -> None:
    if held > MOST_BYTES:
        raise _TooLarge(f"it holds more than {MOST_BYTES // 1_000_000} MB")
    if values > MOST_VALUES:
        raise _TooLarge(f"it holds more than {MOST_VALUES:,} values")
