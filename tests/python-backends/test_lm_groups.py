"""The figure of a group of lm-eval, against lm-eval's own of the same tasks and rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lm_eval
import pytest
import yaml
from benchmark_fixtures import CONTEXT, packed
from evaluation_fixtures import wire_scorer, words, write_rows
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

from pare_backends.calls.find_tasks import named_tasks
from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.outcome import TaskOutcome
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.lm_groups import METRIC, group_measurements, membership
from pare_backends.evaluation.tasks.task_index import build_index, tasks_folder
from pare_backends.evaluation.tasks.wire_task import GroupMember, WireTask

SIZES = {"own_birds": 9, "own_beasts": 4, "own_fish": 6}
DOCUMENT = {
    "dataset_path": "json",
    "test_split": "test",
    "output_type": "multiple_choice",
    "doc_to_text": "Q: {{question}}\nA:",
    "doc_to_target": "answer",
    "doc_to_choice": "{{choices}}",
    "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
}


def write_group(folder: Path, weighted: bool) -> None:
    """Three tasks of different sizes and answers, and their group."""
    for first, (name, size) in enumerate(SIZES.items()):
        rows = [
            {
                "question": words(5, 10 * first + i),
                "choices": ["the red fox", "owl", "den"],
                "answer": 1 if i <= first else (i + first) % 3,
            }
            for i in range(size)
        ]
        path = write_rows(folder / f"{name}.jsonl", rows)
        files = {"data_files": {"test": str(path)}, "cache_dir": str(folder / "cache")}
        text = yaml.safe_dump({**DOCUMENT, "task": name, "dataset_kwargs": files})
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    figures = [{"metric": "acc", "aggregation": "mean", "weight_by_size": weighted}]
    group = {"group": "own_group", "task": list(SIZES), "aggregate_metric_list": figures}
    (folder / "own_group.yaml").write_text(yaml.safe_dump(group), encoding="utf-8")


def measured(folder: Path, reader: Any) -> list[TaskOutcome]:
    """pare's outcomes of the group's tasks, as their name finds them."""
    outcomes = []
    for found in named_tasks(build_index(folder), "own_group")["tasks"]:
        name = found["name"]
        task = WireTask(
            task=name,
            task_version=found["version"],
            origin="lm_eval",
            scorers=[wire_scorer("lm_eval_metric")],
            lm_eval_task=name,
            definition=dict(DOCUMENT),
            data_file=None,
            data_path=str(folder / f"{name}.jsonl"),
            few_shot=0,
            metric=found["metric"],
            reported_metric="accuracy",
            unit="1",
            direction="maximize",
            window_tokens=None,
            member_of=[GroupMember(**one) for one in found["member_of"]],
        )
        rows = range(SIZES[name])
        outcomes.append(run_harness(task, load_documents(task), rows, packed(reader)))
    return outcomes


@pytest.mark.parametrize("weighted", [True, False])
def test_a_groups_figure_is_that_of_lm_eval(weighted: bool, tmp_path: Path, reader: Any) -> None:
    write_group(tmp_path, weighted)
    outcomes = measured(tmp_path, reader)
    values = [outcome.value for outcome in outcomes]
    assert len(set(values)) > 1, "tasks that are alike would hide how they are weighed"
    (ours,) = group_measurements(outcomes, "full", "cpu")
    model, tokenizer = reader
    theirs = lm_eval.simple_evaluate(
        model=HFLM(pretrained=model, tokenizer=tokenizer, batch_size=4, max_length=CONTEXT),
        tasks=["own_group"],
        task_manager=TaskManager(include_path=str(tmp_path), include_defaults=False),
        bootstrap_iters=10,
    )["groups"]["own_group"]
    assert ours["chance"] == outcomes[0].chance == pytest.approx(1 / 3), "three choices each"
    assert ours["value"] == pytest.approx(theirs["acc,none"], abs=1e-12)
    assert ours["standard_error"] == pytest.approx(theirs["acc_stderr,none"], rel=1e-9)
    assert (ours["metric"], ours["task"], ours["n"]) == (METRIC, "own_group", sum(SIZES.values()))
    assert group_measurements(outcomes[1:], "full", "cpu") == [], "of a part there is no figure"


def test_lm_evals_own_groups_say_how_they_are_weighed() -> None:
    index = build_index(tasks_folder())
    expected = {"mmlu": 57, "bbh": 27, "mmlu_stem": 19}
    for name, members in expected.items():
        found = named_tasks(index, name)["tasks"]
        own = {"group": name, "weight_by_size": True, "members": members}
        assert [task["member_of"] for task in found] == [[own]] * members
    assert all(not task["member_of"] for task in named_tasks(index, "ai2_arc")["tasks"])
    assert (
        membership("g", {"aggregate_metric_list": [{"metric": "acc"}]}, ["acc_norm,none"]) is None
    )
