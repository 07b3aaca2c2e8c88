"""Tasks that are no plugin, run: a task file and lm-eval's own give what a plugin gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, wire_scorer, wire_task, words, write_rows
from test_evaluate import evaluate

from pare_backends.calls.find_tasks import AskedTask, FindTasksRequest
from pare_backends.calls.find_tasks import run as find_tasks
from pare_backends.calls.prepare_data import PrepareDataRequest
from pare_backends.calls.prepare_data import run as prepare_data
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.task_check import check_task
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure

CHOICES = ["den", "garden mill", "the tower", "pond"]
ROWS = [{"question": words(5, i), "choices": CHOICES, "answer": i % 4} for i in range(8)]
TASK = """
task: own_choice
dataset_path: json
dataset_kwargs: {data_files: {test: own.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_target: answer
doc_to_choice: "{{choices}}"
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
"""


def wire(found: dict[str, Any], data_path: Path | None = None) -> WireTask:
    """A found task as it comes over the wire (`core/tasks/found_as_plugin.ts`)."""
    path = found["data_path"] if data_path is None else str(data_path)
    return WireTask(
        task=found["name"],
        task_version=found["version"],
        origin=found["origin"],
        scorers=[wire_scorer(one["scorer"]) for one in found["scorers"]],
        lm_eval_task=found["lm_eval_task"],
        definition=json.loads(json.dumps(found["definition"])),
        data_file=found["data_file"],
        data_path=path,
        few_shot=found["few_shot"],
        metric=found["metric"],
        reported_metric="accuracy",
        unit="1",
        direction="maximize",
        window_tokens=None,
    )


def found(target: str, kind: Any = "file", trusted: bool = False) -> dict[str, Any]:
    request = FindTasksRequest([AskedTask(target, kind, target)], trusted)
    return dict(find_tasks(request, Events().report)["found"][0]["tasks"][0])


def own(folder: Path, text: str = TASK, rows: Any = ROWS, trusted: bool = False) -> WireTask:
    write_rows(folder / "own.jsonl", rows)
    (folder / "own.yaml").write_text(text, encoding="utf-8")
    return wire(found(str(folder / "own.yaml"), trusted=trusted))


def test_a_task_file_gives_what_the_same_plugin_gives(model_dir: Path, tmp_path: Path) -> None:
    task = own(tmp_path)
    check_task(task, load_documents(task))
    same = wire_task("everyday_choice", tmp_path / "own.jsonl")
    rows = {task.task: list(range(8)), same.task: list(range(8))}
    result, samples, _ = evaluate(model_dir, [task, same], rows, tmp_path)
    fields = ("score", "answer", "gold", "log_likelihood", "prompt_hash", "sample_hash")
    by_task = {
        name: [[sample[field] for field in fields] for sample in samples if sample["task"] == name]
        for name in rows
    }
    assert by_task[task.task] == by_task[same.task]
    first, second = (m for m in result["measurements"] if m["slice"] is None)
    assert first["value"] == second["value"]
    assert first["task_version"] == task.task_version
    assert result["protocol"][task.task] != result["protocol"][same.task]


def test_the_protocol_follows_what_a_task_file_says(model_dir: Path, tmp_path: Path) -> None:
    rows = {"own_choice": [0, 1]}
    text = TASK + "description: ''\n"
    first = evaluate(model_dir, [own(tmp_path)], rows, tmp_path)[0]["protocol"]["own_choice"]
    again = evaluate(model_dir, [own(tmp_path)], rows, tmp_path)[0]["protocol"]["own_choice"]
    other = evaluate(model_dir, [own(tmp_path, text)], rows, tmp_path)[0]["protocol"]["own_choice"]
    assert first == again != other


def test_examples_come_from_the_file_that_is_named_for_them(
    model_dir: Path, tmp_path: Path
) -> None:
    write_rows(tmp_path / "shots.jsonl", ROWS[::-1])
    text = TASK.replace("own.jsonl", "own.jsonl, train: shots.jsonl")
    task = own(tmp_path, text + "fewshot_split: train\nnum_fewshot: 2\n")
    assert load_documents(task).examples == ROWS[::-1]
    _, shot, _ = evaluate(model_dir, [task], {task.task: [0]}, tmp_path)
    _, bare, _ = evaluate(model_dir, [own(tmp_path)], {task.task: [0]}, tmp_path)
    assert shot[0]["prompt_hash"] != bare[0]["prompt_hash"]


@pytest.mark.parametrize(
    ("old", "new", "rows", "said"),
    [
        ("{{question}}", "{{qestion}}", ROWS, r'line 1 of .*no field "qestion" \(found: question'),
        ("_target: answer", "_target: anser", ROWS, r'no field "anser"'),
        ("_target: answer", "_target: 7", ROWS, "row 0 of its data cannot be asked: IndexError"),
        ("task:", "task:", [ROWS[0], {**ROWS[0], "answer": 4}], "row 1 .* choice 4, and it has 4"),
        (
            "{{question}}",
            "{{question | attr('__class__')}}",
            ROWS,
            "SecurityError: access to attribute '__class__'",
        ),
    ],
)
def test_a_row_that_cannot_be_asked_is_named(
    old: str, new: str, rows: Any, said: str, tmp_path: Path
) -> None:
    with pytest.raises(CallFailure, match=said):
        task = own(tmp_path, TASK.replace(old, new), rows)
        check_task(task, load_documents(task))


def test_code_that_is_trusted_makes_the_rows(model_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "def odd(rows):\n    return rows.filter(lambda row: row['answer'] % 2 == 1)\n"
    )
    task = own(tmp_path, TASK + "process_docs: !function own.odd\n", trusted=True)
    documents = load_documents(task)
    assert [row["answer"] for row in documents.rows] == [1, 3, 1, 3]
    check_task(task, documents)
    _, samples, _ = evaluate(model_dir, [task], {task.task: [0, 3]}, tmp_path)
    assert [sample["gold"] for sample in samples] == [CHOICES[1], CHOICES[3]]


def test_lm_evals_own_task_reads_a_folder(model_dir: Path, tmp_path: Path) -> None:
    rows = [
        {"goal": words(4, i), "sol1": "den", "sol2": "the tower", "label": i % 2} for i in range(6)
    ]
    task = wire(found("piqa", "name"), write_rows(tmp_path / "validation.jsonl", rows))
    check_task(task, load_documents(task))
    result, samples, _ = evaluate(model_dir, [task], {"piqa": [1, 4]}, tmp_path)
    assert [sample["gold"] for sample in samples] == ["the tower", "den"]
    assert result["measurements"][0]["task_version"] == "lm-eval 1.0"


def test_lm_evals_own_code_may_leave_out_rows(tmp_path: Path) -> None:
    row = {"activity_label": "a", "ctx_a": "It", "ctx_b": "runs", "ind": 1, "label": "1"}
    rows = [{**row, "endings": ["x [title] y", "z", "w", "v"]}] * 3
    task = wire(found("hellaswag", "name"), write_rows(tmp_path / "validation.jsonl", rows))
    documents = load_documents(task)
    assert documents.rows[0]["query"] == "a: It Runs"
    assert documents.rows[0]["choices"][0] == "x. y"
    check_task(task, documents)


def test_a_score_that_is_no_share_is_refused(model_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def score(doc, results):\n    return {'acc': 50.0}\n")
    task = own(tmp_path, TASK + "process_results: !function own.score\n", trusted=True)
    with pytest.raises(CallFailure, match="its metric acc,none scores a sample with 50"):
        evaluate(model_dir, [task], {task.task: [0]}, tmp_path)


F1 = """
def f1(doc, results):
    chosen = doc["choices"][max(range(4), key=lambda i: results[i][0])].split()
    gold = doc["choices"][doc["answer"]].split()
    shared = len(set(chosen) & set(gold))
    return {"f1": 2 * shared / (len(chosen) + len(gold)), "em": float(chosen == gold)}
"""


def test_a_task_files_own_f1_is_lm_evals_figure(model_dir: Path, tmp_path: Path) -> None:
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    (tmp_path / "own.py").write_text(F1)
    choices = ["the old den", "the garden", "old garden mill", "pond"]
    rows = [{**row, "choices": choices} for row in ROWS]
    listed = "[{metric: f1, aggregation: mean, higher_is_better: true}]"
    text = TASK.replace("[{metric: acc, aggregation: mean, higher_is_better: true}]", listed)
    text = text.replace("own.jsonl", str(tmp_path / "own.jsonl"))
    task = own(tmp_path, text + "process_results: !function own.f1\n", rows, trusted=True)
    assert task.metric == "f1,none"
    task = replace(task, reported_metric="f1")
    result, samples, _ = evaluate(model_dir, [task], {task.task: list(range(8))}, tmp_path)
    theirs = simple_evaluate(
        model=HFLM(pretrained=str(model_dir), dtype="float32", device="cpu", batch_size=1),
        tasks=[task.task],
        task_manager=TaskManager(include_path=str(tmp_path), include_defaults=False),
        bootstrap_iters=0,
    )["results"][task.task]
    (figure,) = result["measurements"]
    assert figure["metric"] == "f1"
    assert figure["value"] == pytest.approx(theirs["f1,none"], abs=1e-12)
    assert len({sample["score"] for sample in samples}) > 1, "else any mean would do"


def test_one_broken_task_is_told_and_the_others_go_on(model_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    good, other = own(tmp_path), wire_task("custom_prompt_answer", tmp_path / "bad" / "d.jsonl")
    (tmp_path / "bad" / "d.jsonl").write_text('{"prompt": "a", "answer": "b"}\n{"prompt": 1\n')
    text = write_rows(tmp_path / "c.jsonl", [{"text": words(300, 90 + i)} for i in range(3)])
    out = str(tmp_path / "out")
    request = PrepareDataRequest(
        str(model_dir), [other, good], str(text), 2, 32, out, 1, 1, {"own_choice": 5}
    )
    result = prepare_data(request, Events().report)
    assert [task["task"] for task in result["tasks"]] == ["own_choice"]
    ((told,),) = [result["refused"]]
    assert told["task"] == "custom_prompt_answer"
    assert "Cannot read line 2 of" in told["reason"]
    (tmp_path / "own.jsonl").write_text("")
    with pytest.raises(CallFailure, match=r"line 2 of .*; .*own\.jsonl: it holds no rows"):
        prepare_data(request, Events().report)
