"""Windows of text that methods work on: of each kind, by the seed, and none that is evaluated."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, wire_task, words, write_rows

from pare_backends.calls.prepare_data import PrepareDataRequest, WindowsRequest, run
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.evaluation.calibration import SEPARATOR, read_windows
from pare_backends.evaluation.overlap import RUN, evaluated_windows
from pare_backends.failures import CallFailure


def request(model_dir: Path, folder: Path, **changes: Any) -> PrepareDataRequest:
    text = write_rows(folder / "c.jsonl", [{"text": words(300, 90 + i)} for i in range(3)])
    task = wire_task("custom_prompt_answer", write_rows(folder / "d.jsonl", [QUESTION]))
    plain = PrepareDataRequest(
        model_dir=str(model_dir),
        tasks=[task],
        calibration_path=str(text),
        calibration_windows=4,
        calibration_tokens=64,
        output_dir=str(folder / "out"),
        seed=42,
        sample_seed=42,
        sample_seeds={},
        training=WindowsRequest(str(text), 20, 32),
    )
    return dataclasses.replace(plain, **changes)


QUESTION = {"prompt": "where does the red fox live", "answer": "den"}


def test_training_windows_are_of_their_own_size_and_number(model_dir: Path, tmp_path: Path) -> None:
    events = Events()
    found = run(request(model_dir, tmp_path), events.report)
    assert read_windows(Path(found["calibration_path"])).shape == (4, 64)
    training = found["training"]
    path = Path(training["path"])
    assert read_windows(path).shape == (20, 32)
    assert training["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(set(training["ids"])) == 20
    starts = [int(name.split("-")[0]) for name in training["ids"]]
    assert starts != sorted(starts), "the first few are drawn from all of the text"
    again = run(request(model_dir, tmp_path), Events().report)["training"]
    assert (again["ids"], again["sha256"]) == (training["ids"], training["sha256"])
    other = run(request(model_dir, tmp_path, seed=43), Events().report)["training"]
    assert other["ids"] != training["ids"]
    assert events.named("alert") == []
    assert run(request(model_dir, tmp_path, training=None), Events().report)["training"] is None


def test_questions_with_answers_are_a_text_to_train_on(model_dir: Path, tmp_path: Path) -> None:
    rows = [{"prompt": words(20, i), "answer": words(1, 900 + i)} for i in range(30)]
    asked = WindowsRequest(str(write_rows(tmp_path / "t.jsonl", rows)), 9, 32)
    found = run(request(model_dir, tmp_path, training=asked), Events().report)
    assert read_windows(Path(found["training"]["path"])).shape == (9, 32)


def test_a_window_with_an_evaluated_sample_inside_is_refused_by_name(
    model_dir: Path, tmp_path: Path
) -> None:
    """A sample in the middle of a longer paragraph: no paragraph of its own gives it away."""
    sample = words(RUN + 2, 5)
    text = f"{words(200, 71)} {sample} {words(200, 72)}"
    asked = WindowsRequest(str(write_rows(tmp_path / "t.jsonl", [{"text": text}])), 500, 32)
    row = {"prompt": f"Say: {sample}", "answer": "den"}
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "e.jsonl", [QUESTION, row]))
    events = Events()
    found = run(request(model_dir, tmp_path, tasks=[task], training=asked), events.report)
    (alert,) = events.named("alert")
    assert alert["condition"] == "training_overlap"
    assert "with row 1 of custom_prompt_answer" in alert["evidence"]
    kept = {name.split(":")[0] for name in found["training"]["ids"]}
    refused = alert["evidence"].split("such as ")[1].split(":")[0]
    assert refused not in kept
    assert len(kept) == 415 // 32 - int(alert["evidence"].split(" ")[0])


def test_a_sample_over_the_edge_of_two_windows_is_in_neither(
    model_dir: Path, tmp_path: Path
) -> None:
    sample = words(RUN + 2, 5)
    text = f"{words(57, 71)} {sample} {words(200, 72)}"  # over the 64th token
    asked = WindowsRequest(str(write_rows(tmp_path / "t.jsonl", [{"text": text}])), 500, 32)
    row = {"prompt": f"Say: {sample}", "answer": "den"}
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "e.jsonl", [row]))
    found = run(request(model_dir, tmp_path, tasks=[task], training=asked), Events().report)
    kept = sorted(int(name.split("-")[0]) for name in found["training"]["ids"])
    assert kept == [start for start in range(0, 272 - 31, 32) if start not in (32, 64)]


AROUND = (words(40, 73), words(40, 74))
LONG = {"prompt": "in the spring the red fox and the old hare live in", "answer": "the den"}


@pytest.mark.parametrize(
    ("leak", "left"),
    [
        ("Where does the red fox live? Den.", []),
        ("Where does the red fox live?\nDen.", []),  # over two lines
        (f"{LONG['prompt']} {LONG['answer']}", []),  # a run that is in none of the row's texts
        (f"{AROUND[0]}\nwhere does the red fox live\n{AROUND[1]}", ["\n".join(AROUND)]),
    ],
)
def test_a_sample_of_a_few_words_is_left_out_where_it_is_a_line(
    leak: str, left: list[str], model_dir: Path, tmp_path: Path
) -> None:
    """Too short for a run of words: a whole line, or a whole text, gives it away."""
    first, near = words(200, 71), "where does the red fox live in the spring"
    rows = [{"text": text} for text in (first, leak, near)]
    asked = WindowsRequest(str(write_rows(tmp_path / "t.jsonl", rows)), 500, 1)
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "e.jsonl", [QUESTION, LONG]))
    events = Events()
    found = run(request(model_dir, tmp_path, tasks=[task], training=asked), events.report)
    (alert,) = events.named("alert")
    assert alert["condition"] == "training_overlap"
    assert "of t.jsonl are evaluation text too and were left out" in alert["evidence"]
    kept = read_windows(Path(found["training"]["path"])).flatten().tolist()
    wanted = SEPARATOR.join([first, *left, near])
    assert sorted(kept) == sorted(load_tokenizer(model_dir).encode(wanted))


def test_questions_that_are_all_evaluated_are_no_text_to_train_on(
    model_dir: Path, tmp_path: Path
) -> None:
    asked = WindowsRequest(str(write_rows(tmp_path / "t.jsonl", [QUESTION])), 9, 4)
    with pytest.raises(CallFailure, match="all of its paragraphs are evaluation text too") as e:
        run(request(model_dir, tmp_path, training=asked), Events().report)
    assert e.value.kind == "bad_input"


def test_a_text_that_is_all_evaluated_is_no_text_to_train_on(
    model_dir: Path, tmp_path: Path
) -> None:
    path = write_rows(tmp_path / "t.jsonl", [{"text": words(300, 71)}])
    asked = WindowsRequest(str(path), 9, 32)
    task = wire_task("custom_text", path)
    with pytest.raises(CallFailure, match=r"Cannot take training windows .*of custom_text") as e:
        run(request(model_dir, tmp_path, tasks=[task], training=asked), Events().report)
    assert e.value.kind == "bad_input"
    row = {"prompt": f"Go on: {words(300, 71)} and then", "answer": "den"}
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "e.jsonl", [row]))
    with pytest.raises(CallFailure, match=r"all 9 share 13 words .* row 0 of custom_prompt"):
        run(request(model_dir, tmp_path, tasks=[task], training=asked), Events().report)


def test_thirteen_words_in_a_row_are_the_same_text_and_twelve_are_not() -> None:
    plain = [f"w{number}" for number in range(40)]
    text, other = ", ".join(plain), " ".join(reversed(plain))
    shared = plain[10 : 10 + RUN]
    rows = {"task": [{"other": ["nothing"]}, {"deep": {"er": [" ".join(shared).upper() + "!"]}}]}
    assert evaluated_windows([other, text], rows) == {1: ("task", 1)}
    rows = {"task": [{"text": " ".join(shared[1:])}]}
    assert evaluated_windows([text], rows) == {}
