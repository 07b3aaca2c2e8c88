"""`find_tasks`: what a name of lm-eval or a task file stands for, and why one cannot be had."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, write_rows

from pare_backends.calls.find_tasks import AskedTask, FindTasksRequest, named_tasks, run
from pare_backends.evaluation.tasks.records import read_records
from pare_backends.evaluation.tasks.task_file import KEYS
from pare_backends.evaluation.tasks.task_index import TaskIndex, build_index, members, tasks_folder
from pare_backends.failures import CallFailure

ROWS = [{"question": f"{i}?", "choices": ["a", "b"], "answer": i % 2} for i in range(4)]
TASK = """
task: own_choice
dataset_path: json
dataset_kwargs: {data_files: {test: own.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "Q: {{question}}\\nA:"
doc_to_target: answer
doc_to_choice: "{{choices}}"
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
metadata: {version: 1, chance: 0.5, full_samples: 40}
"""


@pytest.fixture(scope="module")
def index() -> TaskIndex:
    return build_index(tasks_folder())


def written(folder: Path, text: str = TASK, name: str = "own.yaml") -> Path:
    write_rows(folder / "own.jsonl", ROWS)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def found(path: Path, trusted: bool = False) -> dict[str, Any]:
    request = FindTasksRequest([AskedTask(path.name, "file", str(path))], trusted)
    (one,) = run(request, Events().report)["found"]
    (task,) = one["tasks"]
    return dict(task)


def refusal(path: Path, trusted: bool = False) -> str:
    """Why a task file cannot be had, beside another one that can."""
    other = written(path.parent, TASK.replace("own_choice", "other"), "other.yaml")
    files = [AskedTask(one.name, "file", str(one)) for one in (path, other)]
    wrong, right = run(FindTasksRequest(files, trusted), Events().report)["found"]
    assert (wrong["tasks"], right["reason"], len(right["tasks"])) == ([], None, 1)
    return str(wrong["reason"])


def test_a_task_file_is_told_by_what_it_says(tmp_path: Path) -> None:
    task = found(written(tmp_path))
    assert (task["name"], task["metric"], task["chance"]) == ("own_choice", "acc,none", 0.5)
    assert (task["proxy_samples"], task["full_samples"], task["few_shot"]) == (None, 40, 0)
    assert task["data_path"] == str(tmp_path / "own.jsonl")
    assert task["definition"]["doc_to_text"] == "Q: {{question}}\nA:"
    assert json.loads(json.dumps(task)) == task


def test_a_version_is_the_hash_of_all_that_a_task_file_says(tmp_path: Path) -> None:
    first = found(written(tmp_path))["version"]
    assert found(written(tmp_path))["version"] == first
    assert found(written(tmp_path, TASK.replace("Q:", "Question:")))["version"] != first


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("doc_to_text:", "doc_to_txt:", r'Unknown key "doc_to_txt". Did you mean "doc_to_text"'),
        ("metric: acc", "metric: accc", r'Unknown metric "accc". Did you mean "acc"'),
        ("multiple_choice", "multiple_chioce", r'Did you mean "multiple_choice"'),
        ("{{question}}", "{{question", r'its "doc_to_text" is no template at line 2'),
        ("{{question}}", "{{question.__class__}}", r'reaches into Python by "__class__"'),
        ("{{question}}", "{{question['__class__']}}", r'reaches into Python by "__class__"'),
        ("own.jsonl", "own.csv", r"must be a \.jsonl, \.jsonl\.gz or \.json file"),
        ("{test: own", "{tset: own", r"no file for its test_split .*\(test\): it has tset"),
        ("test_split: test", "num_fewshot: 2", r"no file for its test_split"),
        ("chance: 0.5", "chance: 2", r"metadata\.chance must be a number .* not 2"),
        ("chance: 0.5", "chance: 0.5, 7: a", r"no JSON can: '<' not supported"),
        ("chance: 0.5", "chance: 0.5, on: 2026-11-29", r"no JSON can: .*date"),
        ("answer\n", "!function own.target\n", r"code of its own \(!function own\.target\).*trust"),
        ("output_type: multiple_choice", "output_type: [a", r"no YAML at line 7, column"),
        ("task: own_choice", "task: 3", r'its "task" must be str, not 3'),
        ("task: own_choice", "", r"it has no name"),
        ("doc_to_target: answer", "", r"it does not say doc_to_target"),
        ("task:", "unsafe_code: true\ntask:", r"runs code that the model writes"),
        ("task:", "class: Own\ntask:", r"written in Python"),
        ("task:", "include: ../../../etc/passwd\ntask:", r"neither beside it nor a document"),
        ("task:", "include: own.yaml\ntask:", r"it includes itself"),
    ],
)
def test_what_is_wrong_with_a_task_file_is_one_sentence(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    assert old in TASK
    sentence = refusal(written(tmp_path, TASK.replace(old, new, 1)))
    assert re.search(said, sentence), sentence
    assert "own.yaml" in sentence
    assert "\n" not in sentence


def test_a_file_that_is_none_is_said(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "nowhere.yaml")
    assert "it holds nothing" in refusal(written(tmp_path, ""))
    assert "it holds list" in refusal(written(tmp_path, "- a\n"))
    (tmp_path / "own.yaml").write_bytes(b"\xff\xfe\x00")
    assert "it is not UTF-8" in refusal(tmp_path / "own.yaml")


def test_a_data_file_that_is_not_there_is_left_to_who_reads_it(tmp_path: Path) -> None:
    task = found(written(tmp_path, TASK.replace("own.jsonl", "nowhere.jsonl")))
    assert task["data_path"] == str(tmp_path / "nowhere.jsonl")


def test_rows_may_be_one_list_of_a_json_file(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(json.dumps(ROWS))
    task = found(written(tmp_path, TASK.replace("own.jsonl", "own.json")))
    assert read_records(Path(task["data_path"])) == ROWS
    Path(task["data_path"]).write_text('[{"a": 1},')
    with pytest.raises(CallFailure, match=r"own\.json: it is no JSON"):
        read_records(Path(task["data_path"]))


def test_code_beside_a_task_file_is_imported_neither_without_nor_with_trust(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    (tmp_path / "own.py").write_text(f"open({str(seen)!r}, 'w')\ndef target(doc): return 0\n")
    path = written(
        tmp_path, TASK.replace("doc_to_target: answer", "doc_to_target: !function own.target")
    )
    refusal(path)
    first = found(path, trusted=True)
    assert first["definition"]["include"] == str(path)
    assert not seen.exists()
    (tmp_path / "own.py").write_text("def target(doc): return 1\n")
    assert found(path, trusted=True)["version"] != first["version"]


def test_a_task_file_may_stand_on_a_document_of_lm_eval(tmp_path: Path) -> None:
    text = """
include: piqa/piqa.yaml
task: own_piqa
dataset_path: json
dataset_kwargs: {data_files: {validation: own.jsonl}}
metadata: {metric: acc_norm}
"""
    task = found(written(tmp_path, text))
    assert task["metric"] == "acc_norm,none"
    assert task["definition"]["include"] == "piqa/piqa.yaml"
    assert task["data_path"] == str(tmp_path / "own.jsonl")


def test_lm_evals_tasks_are_found_by_name(index: TaskIndex) -> None:
    (piqa,) = named_tasks(index, "piqa")["tasks"]
    assert piqa["definition"] == {"include": "piqa/piqa.yaml"}
    assert (piqa["metric"], piqa["data_file"]) == ("acc,none", "piqa/validation.jsonl.gz")
    assert named_tasks(index, "pqia") == {"tasks": [], "near": index.near("pqia")}
    assert "piqa" in index.near("pqia")
    assert [task["few_shot"] for task in named_tasks(index, "gsm8k")["tasks"]] == [5]


def test_a_group_is_its_tasks(index: TaskIndex) -> None:
    stem = [task["name"] for task in named_tasks(index, "mmlu_stem")["tasks"]]
    assert len(stem) == 19
    assert "mmlu_anatomy" in stem
    assert len(members(index, "mmlu")) == 57
    # The tag of one of them stands in the document that it includes.
    assert members(index, "ai2_arc") == ["arc_challenge", "arc_easy"]
    with pytest.raises(CallFailure, match=r"stands for .* tasks, and each is a benchmark"):
        named_tasks(index, "belebele")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("humaneval", "runs code that the model writes"),
        ("squadv2", "written in Python"),
        ("wikitext", "likelihood of whole texts"),
        ("cola", "none of its metrics is a mean over samples.*mcc"),
    ],
)
def test_a_task_that_cannot_be_had_says_why(name: str, said: str, index: TaskIndex) -> None:
    with pytest.raises(CallFailure, match=said):
        named_tasks(index, name)


def test_the_keys_are_lm_evals_own() -> None:
    from lm_eval.config.task import TaskConfig

    known = {field.name for field in dataclasses.fields(TaskConfig)}
    assert set(KEYS) - {"include"} <= known
    assert known - set(KEYS) == {"custom_dataset", "doc_to_image", "doc_to_audio", "use_prompt"}


def test_neither_torch_nor_lm_eval_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pare_backends.calls.find_tasks import file_task\n"
        "from pathlib import Path\n"
        f"file_task(Path({str(written(tmp_path))!r}), False)\n"
        "print([name for name in ('torch', 'lm_eval', 'datasets') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
