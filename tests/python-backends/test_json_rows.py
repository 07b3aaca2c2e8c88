"""Rows of JSON that editors, other tools and strangers write: both sides of pare take and refuse
the same ones, by `json_rules.json` (its other reader is tests/tracker/lab/data_rules_test.ts)."""

from __future__ import annotations

import gzip
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pare_backends.evaluation.tasks import records
from pare_backends.evaluation.tasks.records import read_records
from pare_backends.evaluation.tasks.task_yaml import read_document
from pare_backends.failures import CallFailure

RULES = json.loads((Path(__file__).parent / "json_rules.json").read_text())
GOOD = '{"prompt": "a", "answer": "b"}'
MADE = {
    "DIGITS": '{"prompt": "a", "answer": "c", "n": ' + "9" * 6000 + "}",
    "DEEP": '{"prompt": "a", "answer": "c", "n": ' + "[" * 20_000 + "]" * 20_000 + "}",
    "NEST": '{"prompt": "a", "answer": "c", "n": ' + "[" * 63 + "]" * 63 + "}",
    "LONG": '{"prompt": "' + "x " * 25_000_000 + '", "answer": "c"}',
}


def refusal_of(path: Path) -> str | None:
    try:
        read_records(path, {"prompt": "any", "answer": "string"})
    except CallFailure as failure:
        assert failure.kind == "bad_input"
        return failure.message
    return None


@pytest.mark.parametrize(("line", "said"), [rule[1:] for rule in RULES], ids=[r[0] for r in RULES])
def test_a_row_is_taken_or_refused_as_on_the_other_side(
    line: str, said: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{GOOD}\n{MADE.get(line, line)}\n", newline="")
    started = time.monotonic()
    refusal = refusal_of(path)
    assert time.monotonic() - started < 10
    if said is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert f"Cannot read line 2 of {path}: " in refusal
        assert said in refusal and len(refusal) < 400 + len(str(path))


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.json"])
def test_a_byte_order_mark_is_no_part_of_the_first_row(name: str, tmp_path: Path) -> None:
    text = f"[{GOOD}, {GOOD}]" if name.endswith(".json") else f"{GOOD}\n{GOOD}\n"
    data = b"\xef\xbb\xbf" + text.encode()
    path = put(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
    assert [row["prompt"] for row in read_records(path)] == ["a", "a"]


def test_a_task_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert read_document(put(tmp_path / "t.yaml", b"\xef\xbb\xbftask: mine\n")) == {"task": "mine"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: " + "[" * 900 + "]" * 900, "it is nested more than 64 deep"),
        ("a: &a [*a]", "it is nested more than 64 deep"),
        ('a: "\\ud800"', "half a character|no YAML"),
        (
            "a0: &a0 [x]\n" + "\n".join(f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]" for i in range(1, 10)),
            "it stands for more than 100000 values",
        ),
    ],
    ids=["deep", "a circle", "half a character", "billions"],
)
def test_a_task_file_holds_what_can_be_written_out(text: str, said: str, tmp_path: Path) -> None:
    path = put(tmp_path / "t.yaml", text.encode())
    with pytest.raises(CallFailure, match=rf"t\.yaml: .*({said})"):
        read_document(path)


def test_a_file_that_is_none_or_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LARGEST_FILE", 1_000_000)
    bomb = put(tmp_path / "bomb.jsonl.gz", gzip.compress(b"\n" * 20_000_000))
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    said: dict[Any, str] = {
        bomb: "it holds more than 1 MB",
        tmp_path / "folder.jsonl": "it is no file",
        tmp_path / "pipe.jsonl": "it is no file",
        put(tmp_path / "wide.jsonl", GOOD.encode("utf-16")): "it is not UTF-8",
        put(tmp_path / "empty.jsonl", b""): "it holds no rows",
        put(tmp_path / "mark.jsonl", b"\xef\xbb\xbf"): "it holds no rows",
        put(tmp_path / "list.json", b"[" * 5000): "list.json: it is nested more than 64 deep",
    }
    for path, expected in said.items():
        assert expected in str(refusal_of(path))
