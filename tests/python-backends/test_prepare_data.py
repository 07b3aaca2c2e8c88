"""`prepare_data`: seeded rows, calibration windows, and what it says about broken files."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, wire_task, words, write_rows

from pare_backends.calls.prepare_data import PrepareDataRequest, run
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.evaluation.calibration import read_windows
from pare_backends.evaluation.tasks.selection import drawn_order
from pare_backends.failures import CallFailure


def request(model_dir: Path, folder: Path, **changes: Any) -> PrepareDataRequest:
    data = folder / "d.jsonl"
    if not data.exists():
        write_rows(data, [{"prompt": words(4, i), "answer": "den"} for i in range(40)])
    calibration = write_rows(folder / "c.jsonl", [{"text": words(300, 90 + i)} for i in range(3)])
    plain = PrepareDataRequest(
        model_dir=str(model_dir),
        tasks=[wire_task("custom_prompt_answer", data)],
        calibration_path=str(calibration),
        calibration_windows=4,
        calibration_tokens=64,
        output_dir=str(folder / "out"),
        seed=42,
        sample_seed=42,
        sample_seeds={},
    )
    return dataclasses.replace(plain, **changes)


def test_the_order_of_rows_follows_the_sample_seed_alone(model_dir: Path, tmp_path: Path) -> None:
    first = run(request(model_dir, tmp_path), Events().report)["tasks"][0]
    assert sorted(first["order"]) == list(range(40)) != first["order"]
    assert (first["rows"], first["groups"]) == (40, None)
    assert run(request(model_dir, tmp_path, seed=43), Events().report)["tasks"][0] == first
    other = run(request(model_dir, tmp_path, sample_seed=43), Events().report)["tasks"][0]
    assert other["order"] != first["order"]
    assert drawn_order(40, 42, "custom_prompt_answer") == first["order"]
    assert drawn_order(40, 42, "custom_text") != first["order"]


def test_the_same_rows_are_the_same_data_in_whatever_file(model_dir: Path, tmp_path: Path) -> None:
    first = run(request(model_dir, tmp_path), Events().report)["tasks"][0]["data_sha256"]
    rows = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    turned = "".join(json.dumps(dict(reversed(row.items()))) + "\n\n" for row in rows)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(turned.encode()))
    task = wire_task("custom_prompt_answer", packed)
    again = run(request(model_dir, tmp_path, tasks=[task]), Events().report)["tasks"][0]
    assert again["data_sha256"] == first
    write_rows(packed.with_suffix(""), [*rows[1:], rows[0]])
    task = wire_task("custom_prompt_answer", packed.with_suffix(""))
    other = run(request(model_dir, tmp_path, tasks=[task]), Events().report)["tasks"][0]
    assert other["data_sha256"] != first


def test_every_row_of_a_task_with_groups_tells_its_own(model_dir: Path, tmp_path: Path) -> None:
    rows = [
        {"input": f"{i} is", "target": str(i), "subtask": name}
        for i, name in enumerate(["snarks", "navigate", "snarks"])
    ]
    task = wire_task("bigbench_hard", write_rows(tmp_path / "b.jsonl", rows))
    short = {**(task.definition or {}), "generation_kwargs": {"max_gen_toks": 9}}
    task = dataclasses.replace(task, definition=short)  # the tiny model reads 256 tokens
    found = run(request(model_dir, tmp_path, tasks=[task]), Events().report)["tasks"][0]
    assert found["groups"] == ["snarks", "navigate", "snarks"]


def test_rows_of_a_text_are_its_windows(model_dir: Path, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "t.jsonl", [{"text": words(150, i)} for i in range(4)])
    task = wire_task("custom_text", path, window_tokens=32)
    found = run(request(model_dir, tmp_path, tasks=[task]), Events().report)
    assert found["tasks"][0]["rows"] == 600 // 32


def test_calibration_windows_are_disjoint_tokens_of_the_text(
    model_dir: Path, tmp_path: Path
) -> None:
    events = Events()
    asked = request(model_dir, tmp_path)
    found = run(asked, events.report)
    path = Path(found["calibration_path"])
    tokens = read_windows(path)
    assert tokens.shape == (4, 64)
    assert found["calibration_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    text = "\n\n".join(words(300, 90 + i) for i in range(3))
    stream = load_tokenizer(model_dir).encode(text, add_special_tokens=False)
    places = []
    for window, name in zip(tokens.tolist(), found["calibration_ids"], strict=True):
        start, end = (int(part) for part in name.split(":")[0].split("-"))
        assert window == stream[start:end]
        places.append(start)
    assert len(set(places)) == 4
    assert all(place % 64 == 0 for place in places)
    assert events.named("alert") == []
    assert run(asked, Events().report)["calibration_sha256"] == found["calibration_sha256"]


def test_fewer_windows_than_asked_are_said(model_dir: Path, tmp_path: Path) -> None:
    events = Events()
    found = run(request(model_dir, tmp_path, calibration_windows=500), events.report)
    assert len(found["calibration_ids"]) == 900 // 64
    assert "14 windows of 64 tokens, 500 were asked for" in events.named("alert")[0]["evidence"]


def test_evaluation_text_is_never_calibration_text(model_dir: Path, tmp_path: Path) -> None:
    shared = words(300, 91)  # the second text of the calibration file
    task = wire_task("custom_text", write_rows(tmp_path / "t.jsonl", [{"text": shared}]))
    asked = request(model_dir, tmp_path, tasks=[task], calibration_windows=9)
    events = Events()
    found = run(asked, events.report)
    assert events.named("alert")[0]["condition"] == "calibration_overlap"
    left = load_tokenizer(model_dir).encode("\n\n".join([words(300, 90), words(300, 92)]))
    kept = [tuple(window) for window in read_windows(Path(found["calibration_path"])).tolist()]
    assert set(kept) == {tuple(left[i * 64 : i * 64 + 64]) for i in range(9)}


def test_a_calibration_text_without_one_window_is_refused(model_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match="window of 5000 tokens: the text has 900 tokens"):
        run(request(model_dir, tmp_path, calibration_tokens=5000), Events().report)
    assert not (tmp_path / "out" / "calibration.safetensors").exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"prompt": "a", "answer": "b"}\n{"prompt": \n', "line 2 .* it is no JSON"),
        (b'\n{"prompt": "a", "text": "b"}\n', 'line 2 .* it has no field "answer"'),
        (b'{"prompt": "a", "answer": 3}\n', 'line 1 .* field "answer" must be a string, not 3'),
        (b'["a", "b"]\n', "line 1 .* it holds list, not an object"),
        (b'{"prompt": "a", "answer": "\xff"}\n', "line 1 .* it is not UTF-8"),
        (b"\n \n", "it holds no rows"),
    ],
)
def test_a_broken_file_is_one_sentence(
    content: bytes, reason: str, model_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "d.jsonl").write_bytes(content)
    with pytest.raises(CallFailure, match=reason) as caught:
        run(request(model_dir, tmp_path), Events().report)
    assert caught.value.kind == "bad_input"
    assert "d.jsonl" in caught.value.message


def test_a_gzip_file_is_read_and_a_cut_one_refused(model_dir: Path, tmp_path: Path) -> None:
    rows = b'{"prompt": "the red", "answer": "fox"}\n' * 6
    packed = tmp_path / "d.jsonl.gz"
    packed.write_bytes(gzip.compress(rows))
    task = wire_task("custom_prompt_answer", packed)
    found = run(request(model_dir, tmp_path, tasks=[task]), Events().report)
    assert found["tasks"][0]["rows"] == 6
    packed.write_bytes(gzip.compress(rows)[:30])
    with pytest.raises(CallFailure, match=r"Cannot read .*d\.jsonl\.gz"):
        run(request(model_dir, tmp_path, tasks=[task]), Events().report)


def test_a_missing_file_says_where_it_was_looked_for(model_dir: Path, tmp_path: Path) -> None:
    task = wire_task("arc_challenge", tmp_path / "arc_challenge" / "test.jsonl.gz")
    with pytest.raises(CallFailure, match="no such file") as caught:
        run(request(model_dir, tmp_path, tasks=[task]), Events().report)
    assert "--data-dir" in str(caught.value.hint)
