"""Reads rows of JSON and says in one sentence what is wrong with a file."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pare_backends.evaluation.tasks.json_rows import (
    BYTE_ORDER_MARK,
    LARGEST_FILE,
    NoJson,
    parse_json,
    parse_whole,
)
from pare_backends.failures import CallFailure, visible
from pare_backends.plain_file import require_file

Row = dict[str, Any]
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "list": (list,),
    "object": (dict,),
}
ANY = "any"


def read_records(path: Path, fields: Mapping[str, str] | None = None) -> list[Row]:
    """Rows of a .jsonl or .jsonl.gz file in file order, blank lines skipped; or of a .json file
    that holds one list.

    `fields` are required of every row, with their type: string, integer, list, object or any.
    Raises `CallFailure` that names the file, the line and the reason.
    """
    rows: list[Row] = []
    lines = _items(path) if path.suffix == ".json" else _lines(path)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except NoJson as error:
            raise _broken(path, number, str(error)) from error
        if not isinstance(row, dict):
            raise _broken(path, number, f"it holds {type(row).__name__}, not an object")
        for name, kind in (fields or {}).items():
            if name not in row:
                found = visible(", ".join(row), 200) or "none"
                raise _broken(path, number, f'it has no field "{name}" (found: {found})')
            value = row[name]
            if kind != ANY and (not isinstance(value, TYPES[kind]) or isinstance(value, bool)):
                found = json.dumps(value, ensure_ascii=False)[:60]
                raise _broken(path, number, f'its field "{name}" must be a {kind}, not {found}')
        rows.append(row)
    if not rows:
        raise CallFailure("bad_input", f"Cannot use {path}: it holds no rows")
    return rows


def _items(path: Path) -> list[str]:
    """A file of one list, each of its items as a line; or its lines, where it holds those."""
    lines = _lines(path)
    text = "\n".join(lines)
    if not text.lstrip().startswith("["):
        return lines
    try:
        return [json.dumps(item) for item in parse_whole(text)]
    except NoJson as error:
        raise CallFailure("bad_input", f"Cannot read {path}: {error}") from error


def _lines(path: Path) -> list[str]:
    try:
        require_file(path)
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError as error:
        raise CallFailure(
            "bad_input",
            f"Cannot read {path}: there is no such file",
            hint="Check --data-dir or the path of the dataset",
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        raise CallFailure("bad_input", f"Cannot read {path}: {error}") from error
    if len(data) > LARGEST_FILE:
        most = f"{LARGEST_FILE // 1_000_000} MB"
        raise CallFailure("bad_input", f"Cannot read {path}: it holds more than {most}")
    lines = data.removeprefix(BYTE_ORDER_MARK.encode()).split(b"\n")
    texts: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            texts.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise _broken(path, number, f"it is not UTF-8 ({error.reason})") from error
    return texts


def _broken(path: Path, number: int, reason: str) -> CallFailure:
    return CallFailure("bad_input", f"Cannot read line {number} of {path}: {reason}")


def content_hash(value: Any) -> str:
    """First 16 hex digits of the SHA-256 over the value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:16]


def row_hashes(rows: Sequence[Row]) -> list[str]:
    """One hash a row over its content. A repeated row takes the number of its repetition in, so
    that no two rows of a task share a hash."""
    seen: Counter[str] = Counter()
    hashes: list[str] = []
    for row in rows:
        plain = content_hash(row)
        hashes.append(plain if seen[plain] == 0 else content_hash([plain, seen[plain]]))
        seen[plain] += 1
    return hashes


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
