"""Call `score`: kept answers score as they did, and what was not kept whole is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, wire_scorer, wire_task, words, write_rows
from pyarrow import parquet
from test_evaluate import CHOICES, evaluate

from pare_backends.calls.find_tasks import file_task
from pare_backends.calls.score import ScoreFile, ScoreRequest, run
from pare_backends.evaluation.scoring.kept import kept_answers
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.wire_task import WireScorer, WireTask
from pare_backends.failures import CallFailure

WRITTEN = {
    "output_type": "generate_until",
    "doc_to_text": "{{prompt}}",
    "doc_to_target": "{{answer}}",
    "generation_kwargs": {"max_gen_toks": 12, "until": ["\n\n"], "do_sample": False},
    "metadata": {"version": 1},
}


def written_task(folder: Path) -> WireTask:
    """Three prompts whose answers are written and must hold a word."""
    rows = [{"prompt": words(6, i), "answer": word} for i, word in enumerate(["the", "fox", "a"])]
    return wire_task(
        "custom_prompt_answer",
        write_rows(folder / "d.jsonl", rows),
        definition=WRITTEN,
        scorers=[wire_scorer("contains_span", params={"gold": "answer"})],
    )


def scored(
    task: WireTask, folder: Path, scorers: list[WireScorer] | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the call says of the samples in the folder, and the rows of its first file."""
    file = ScoreFile(str(folder / "samples.parquet"), "full", "again")
    request = ScoreRequest(task, scorers or task.scorers, [file], None, False)
    (found,) = run(request, Events().report)["files"]
    path = folder / found[0]["scores"]["name"]
    return found[0], list(parquet.read_table(path).to_pylist())


def test_kept_answers_of_every_form_score_as_they_did(model_dir: Path, tmp_path: Path) -> None:
    choices = [{"question": words(5, i), "choices": CHOICES, "answer": i % 4} for i in range(5)]
    texts = [{"text": words(90, i)} for i in range(2)]
    known = [{"prompt": words(4, i), "answer": words(1, i)} for i in range(5)]
    tasks = [
        wire_task("everyday_choice", write_rows(tmp_path / "c.jsonl", choices)),
        wire_task("custom_text", write_rows(tmp_path / "t.jsonl", texts), window_tokens=32),
        wire_task("custom_prompt_answer", write_rows(tmp_path / "k.jsonl", known)),
        dataclasses.replace(written_task(tmp_path), task="written"),
    ]
    rows = {task.task: [0, 1, 2] for task in tasks}
    result, samples, _ = evaluate(model_dir, tasks, rows, tmp_path)
    for task in tasks:
        again, scores = scored(task, tmp_path)
        before = [one["score"] for one in samples if one["task"] == task.task]
        own = task.scorers[0].metrics[0].metric
        assert [one["score"] for one in scores if one["metric"] == own] == pytest.approx(before)
        measured = [one for one in result["measurements"] if one["task"] == task.task]
        for one in again["measurements"]:
            (same,) = [two for two in measured if two["metric"] == one["metric"]]
            for field in ("value", "standard_error", "n", "unit", "direction"):
                assert one[field] == pytest.approx(same[field]), (task.task, field)


def test_answers_that_are_cut_or_not_kept_are_refused(model_dir: Path, tmp_path: Path) -> None:
    task = written_task(tmp_path)
    rows = {task.task: [0, 1, 2]}
    evaluate(model_dir, [task], rows, tmp_path, answer_chars=2)
    with pytest.raises(CallFailure, match=r"3 of 3 answers are cut \(sample 0; the longest") as cut:
        scored(task, tmp_path)
    assert "--answer-chars" in (cut.value.hint or "")
    evaluate(model_dir, [task], rows, tmp_path, answer_chars=0)
    with pytest.raises(CallFailure, match="3 of 3 answers were not kept as they were written"):
        scored(task, tmp_path)
    assert not list(tmp_path.glob("again.*"))


def test_other_data_and_another_form_are_refused(model_dir: Path, tmp_path: Path) -> None:
    task = written_task(tmp_path)
    evaluate(model_dir, [task], {task.task: [0, 2]}, tmp_path)
    with pytest.raises(CallFailure, match="it reads windows, and the answers are text"):
        scored(task, tmp_path, [wire_scorer("token_loss")])
    rows = [{"prompt": words(6, i), "answer": "owl"} for i in range(3)]
    write_rows(tmp_path / "d.jsonl", rows)
    with pytest.raises(CallFailure, match="row 0 of its data is another one than was asked"):
        scored(task, tmp_path)


def test_lines_of_json_of_older_versions_are_read(tmp_path: Path) -> None:
    task = written_task(tmp_path)
    documents = load_documents(task)
    line = {
        **{"task": task.task, "sample_id": "1", "sample_hash": documents.hashes[1]},
        **{"prompt_hash": "p", "score": "NaN", "answer": "a fox", "answer_length": 5},
        **{"gold": "fox", "log_likelihood": None, "seconds": None},
    }
    path = write_rows(tmp_path / "old.jsonl", [line])
    asked = kept_answers(task, path, documents)
    assert (asked.answers[0].text, list(asked.rows)) == ("a fox", [1])
    path = write_rows(tmp_path / "old.jsonl", [{**line, "answer_length": None}])
    with pytest.raises(CallFailure, match="were not kept as they were written"):
        kept_answers(task, path, documents)


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ("{}", {"scorer": "lm_eval_metric", "params": {}}),
        ("{rule: final_number, gold: sum}", {"scorer": "final_number", "params": {"gold": "sum"}}),
        (
            "{scorer: shared_words, scorer_params: {field: sum}}",
            {"scorer": "shared_words", "params": {"field": "sum"}},
        ),
    ],
)
def test_a_task_file_names_its_scorer(metadata: str, named: Any, tmp_path: Path) -> None:
    write_rows(tmp_path / "own.jsonl", [{"prompt": "1 and 1", "sum": "2"}])
    (tmp_path / "own.yaml").write_text(
        "task: own\ndataset_path: json\ndataset_kwargs: {data_files: {test: own.jsonl}}\n"
        "test_split: test\noutput_type: generate_until\ndoc_to_text: '{{prompt}}'\n"
        f"doc_to_target: '{{{{sum}}}}'\nmetadata: {metadata}\n"
    )
    found = file_task(tmp_path / "own.yaml", False)
    assert found["scorers"] == [named]
    assert set(json.loads(json.dumps(found["definition"]))["metadata"]) == {"version"}
