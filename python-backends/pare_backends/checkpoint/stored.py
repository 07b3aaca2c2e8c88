"""Tensors in safetensors files, read one at a time by numpy alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pare_backends.failures import CallFailure

DTYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,  # numpy has none: widened to float32 on reading
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
LARGEST = 1 << 60  # values, and bytes: no file holds more
HEADER_LIMIT = 100_000_000  # bytes; the format's own limit
DAMAGED_HINT = "Download or copy the file again"


@dataclass(frozen=True)
class Entry:
    """Where a tensor lies in its file."""

    path: Path
    dtype: str  # safetensors' name, such as BF16
    shape: tuple[int, ...]
    start: int  # byte in the file
    end: int

    @property
    def values(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


def file_entries(path: Path) -> dict[str, Entry]:
    """What a safetensors file holds; `CallFailure` where its header does not fit its bytes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(HEADER_LIMIT, size - 8):
            raise damaged(path, f"its header would be {length} bytes of {size}")
        try:
            header = json.loads(file.read(length))
            entries = {
                name: entry_of(path, 8 + length, fields)
                for name, fields in header.items()
                if name != "__metadata__"
            }
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise damaged(path, f"its header cannot be read ({error})") from error
    for name, entry in entries.items():
        check_entry(path, size, name, entry)
    end = max((entry.end for entry in entries.values()), default=8 + length)
    if end != size:
        raise damaged(path, f"its header speaks of {end} bytes, the file has {size}")
    return entries


def entry_of(path: Path, base: int, fields: Mapping[str, object]) -> Entry:
    """One line of the header; raises KeyError, TypeError or ValueError where it is malformed."""
    offsets, shape = fields["data_offsets"], fields["shape"]
    if not isinstance(offsets, list) or not isinstance(shape, list):
        raise TypeError("offsets and shapes must be lists")
    start, end = (whole(offset) for offset in offsets)
    sides = tuple(whole(side) for side in shape)
    if math.prod(sides) > LARGEST:
        raise ValueError(f"a shape of {shape!r:.80}")
    return Entry(path, str(fields["dtype"]), sides, base + start, base + end)


def whole(value: object) -> int:
    """A place or a side; raises TypeError or ValueError where it is none. numpy would take a side
    of -1 for one that it may choose, and lose what is beyond 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r:.40} is no whole number")
    if not 0 <= value <= LARGEST:
        raise ValueError(f"{value!r:.40} is no side or place of a tensor")
    return value


def check_entry(path: Path, size: int, name: str, entry: Entry) -> None:
    """Raises where a tensor's bytes are not where the header says."""
    if entry.end > size or entry.start > entry.end:
        raise damaged(path, f"{name} ends at byte {entry.end}, the file has {size}")
    if entry.dtype in DTYPES:
        expected = entry.values * np.dtype(DTYPES[entry.dtype]).itemsize
        if expected != entry.end - entry.start:
            raise damaged(path, f"{name} has {entry.end - entry.start} bytes, expected {expected}")


def check_dtype(name: str, entry: Entry) -> None:
    """Raises for a tensor of a type that cannot be read."""
    if entry.dtype not in DTYPES:
        raise CallFailure(
            "bad_input",
            f"Cannot read {name} in {entry.path.name}: its type {entry.dtype} is not one of"
            f" {', '.join(DTYPES)}",
        )


def damaged(path: Path, why: str) -> CallFailure:
    """The failure for a file that is not what its name says."""
    return CallFailure("bad_input", f"Cannot read {path.name}: {why}", hint=DAMAGED_HINT)


class StoredTensors(Mapping[str, np.ndarray]):
    """Tensors by name, each read when it is asked for, bf16 as float32; beside them tensors that
    are in memory."""

    def __init__(
        self, entries: Mapping[str, Entry], made: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.made = dict(made or {})
        self.entries = {name: entry for name, entry in entries.items() if name not in self.made}

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.made:
            return self.made[name]
        entry = self.entries[name]
        check_dtype(name, entry)
        raw: np.ndarray = np.fromfile(
            entry.path, dtype=DTYPES[entry.dtype], count=entry.values, offset=entry.start
        ).reshape(entry.shape)
        if entry.dtype != "BF16":
            return raw
        return (raw.astype(np.uint32) << 16).view(np.float32)

    def __iter__(self) -> Iterator[str]:
        yield from self.entries
        yield from self.made

    def __len__(self) -> int:
        return len(self.entries) + len(self.made)

    def __contains__(self, name: object) -> bool:
        return name in self.made or name in self.entries  # unread, as Mapping's own would not be

    def kind(self, name: str) -> str | None:
        """safetensors' name of a tensor's type on disk; None of one that is in memory."""
        return None if name in self.made else self.entries[name].dtype

    def shape(self, name: str) -> tuple[int, ...]:
        """A tensor's shape, unread."""
        return tuple(self.made[name].shape) if name in self.made else self.entries[name].shape

    def subset(self, names: set[str]) -> StoredTensors:
        """Only these tensors, still unread."""
        return StoredTensors(
            {name: e for name, e in self.entries.items() if name in names},
            {name: values for name, values in self.made.items() if name in names},
        )

    def with_made(self, tensors: Mapping[str, np.ndarray]) -> StoredTensors:
        """These tensors in the place of what had their names, the others still unread."""
        return StoredTensors(self.entries, {**self.made, **tensors})
