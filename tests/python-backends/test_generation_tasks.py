"""Benchmarks that are generated: answer rules, groups, and lm-eval's own tasks beside pare's."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_fixtures import own_run, packed, saying, short
from evaluation_fixtures import benchmark_file, wire_task, write_rows

from pare_backends.evaluation.harness import _plain, run_harness
from pare_backends.evaluation.outcome import measurements
from pare_backends.evaluation.scorers.final_number import final_number, read_number
from pare_backends.evaluation.tasks.documents import (
    Documents,
    full_definition,
    load_documents,
)
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("So 9 x 2 = 18.\n#### 18", "18"),
        ("#### 18\nFinal Answer: 7. Or 3", "18"),
        ("Final Answer: 7. Or 3", "7"),
        ("Final Answer: none, as 12 is too many", "12"),
        ("She has 16 - 3 - 4 = 9 eggs, so $1,234.50.", "1234.50"),
        ("#### -42", "-42"),
        ("the change is -$5", "-5"),
        ("the change is $-5.", "-5"),
        ("it fell to \u22123 degrees", "-3"),
        ("that leaves 12-5", "5"),
        ("(4)-1", "1"),
        ("about .5 of it", ".5"),
        ("The answer is 1,000,000.", "1000000"),
        ("I do not know", None),
        ("", None),
        ("#### , .", None),
    ],
)
def test_final_number(text: str, number: str | None) -> None:
    assert final_number(text) == number


def test_a_number_is_right_within_a_hundredth() -> None:
    assert read_number("18.009", "#### 18").right
    assert not read_number("18.01", "#### 18").right
    assert read_number("#### -7.0", "so it is\n#### -7").right
    assert not read_number("#### 7", "so it is\n#### -7").right
    nothing = read_number("I cannot say", "#### 0")
    assert (nothing.answer, nothing.right) == (None, False)
    with pytest.raises(CallFailure, match="it holds no number"):
        read_number("5", "five")


def test_gsm8k_scores_generations_by_its_own_rules(reader: Any) -> None:
    task = wire_task("gsm8k", benchmark_file("gsm8k/test.jsonl.gz"))
    documents = load_documents(task)
    golds = [documents.rows[row]["answer"].rpartition("#### ")[2] for row in range(4)]
    answers = [f"It is {golds[0]}.", "It is 5.", f"#### ${golds[2]}\nthen 9", "no idea"]
    outcome = run_harness(task, documents, [0, 1, 2, 3], saying(reader, answers))
    found = [(s.score, s.parsed_answer, s.gold) for s in outcome.samples]
    assert [s.answer for s in outcome.samples] == answers
    assert found == [
        (1.0, golds[0], golds[0]),
        (0.0, "5", golds[1]),
        (1.0, golds[2], golds[2]),
        (0.0, None, golds[3]),
    ]
    assert outcome.value == 0.5


def test_gsm8k_generates_as_the_requirements_say() -> None:
    task = wire_task("gsm8k")
    options = full_definition(task)["generation_kwargs"]
    assert (options["max_gen_toks"], options["do_sample"]) == (256, False)
    assert "Q:" in options["until"]
    assert task.few_shot == 8


def test_every_gold_answer_of_gsm8k_is_read_as_itself() -> None:
    task = wire_task("gsm8k", benchmark_file("gsm8k/test.jsonl.gz"))
    for row in load_documents(task).rows:
        assert read_number(row["answer"], row["answer"]).right
        assert final_number(row["answer"]) == row["answer"].rpartition("#### ")[2].replace(",", "")


def test_gsm8k_asks_with_the_prompts_of_lm_eval(reader: Any, tmp_path: Path) -> None:
    task = short(wire_task("gsm8k", benchmark_file("gsm8k/test.jsonl.gz")))
    documents = load_documents(task)
    ours = run_harness(task, documents, [0, 7], packed(reader))
    options = (task.definition or {})["generation_kwargs"]
    theirs = own_run(
        reader,
        tmp_path,
        "gsm8k/gsm8k-cot.yaml",
        documents,
        [0, 7],
        generation_kwargs=options,
        filter_list=None,
    )
    assert [s.prompt_hash for s in ours.samples] == [str(s["prompt_hash"])[:16] for s in theirs]
    expected = [read_number(s["resps"][0][0], s["doc"]["answer"]) for s in theirs]
    assert [(s.parsed_answer, s.score) for s in ours.samples] == [
        (reading.answer, float(reading.right)) for reading in expected
    ]


def bbh(
    name: str = "bigbench_hard",
) -> tuple[WireTask, Documents, dict[str, list[int]]]:
    """The task, its documents and the first rows of every subtask."""
    task = wire_task(name, benchmark_file("bbh/test.jsonl.gz"))
    documents = load_documents(task)
    rows: dict[str, list[int]] = {}
    for number, row in enumerate(documents.rows):
        rows.setdefault(row["subtask"], []).append(number)
    return task, documents, rows


def test_bbh_gives_both_means_and_every_file(reader: Any) -> None:
    task, documents, rows = bbh()
    groups = [
        "boolean_expressions",
        "logical_deduction_three_objects",
        "logical_deduction_five_objects",
        "word_sorting",
    ]
    chosen = sorted(row for group in groups for row in rows[group][:2])
    right = {"boolean_expressions": 2, "logical_deduction_three_objects": 1}
    answers, seen = [], dict.fromkeys(groups, 0)
    for row in chosen:
        group, target = documents.rows[row]["subtask"], documents.rows[row]["target"]
        seen[group] += 1
        said = target if seen[group] <= right.get(group, 0) else "nothing"
        answers.append(f"Let us see. So the answer is {said}.")
    outcome = run_harness(task, documents, chosen, saying(reader, answers))
    values = {part.slice: (part.value, part.n) for part in outcome.slices}
    assert outcome.value == pytest.approx(3 / 8)
    assert values["weighted_by_size"] == (pytest.approx(3 / 8), 8)
    assert values["mean_of_27_files"] == (pytest.approx((1 + 0.5 + 0 + 0) / 4), 8)
    assert values["mean_of_23_tasks"] == (pytest.approx((1 + 0.25 + 0) / 3), 8)
    assert values["logical_deduction_three_objects"] == (pytest.approx(0.5), 2)
    wire = measurements(outcome, "full", "cpu")
    assert [m["slice"] for m in wire] == [None, *values]
    assert "unweighted mean over 3 of subtask" in wire[2]["method"]


@pytest.mark.parametrize("group", ["boolean_expressions", "snarks"])
def test_bbh_scores_as_lm_eval_alone(group: str, reader: Any, tmp_path: Path) -> None:
    task, documents, rows = bbh()
    task, chosen = short(task), rows[group][:2]
    ours = run_harness(task, documents, chosen, packed(reader))
    options = (task.definition or {})["generation_kwargs"]
    theirs = own_run(
        reader,
        tmp_path,
        f"bbh/cot_fewshot/{group}.yaml",
        documents,
        chosen,
        generation_kwargs=options,
    )
    assert [s.prompt_hash for s in ours.samples] == [str(s["prompt_hash"])[:16] for s in theirs]
    assert [s.score for s in ours.samples] == [float(s["exact_match"]) for s in theirs]
    assert [s.parsed_answer for s in ours.samples] == [s["filtered_resps"][0] for s in theirs]


@pytest.mark.parametrize(
    "group",
    [
        "boolean_expressions",
        "dyck_languages",
        "logical_deduction_seven_objects",
        "multistep_arithmetic_two",
        "tracking_shuffled_objects_three_objects",
        "word_sorting",
    ],
)
def test_bbh_reads_answers_as_lm_eval_alone(group: str, reader: Any, tmp_path: Path) -> None:
    """Right and wrong answers in the ways that models give them, in files of every kind."""
    task, documents, rows = bbh()
    chosen = rows[group][:6]
    targets = [documents.rows[row]["target"] for row in chosen]
    ways = [
        "Let us see. So the answer is {}.",
        "So the answer is {}",
        "the answer is {}.\nQ: Is it",
        "The answer is: {}.",
        "{}",
        "So the answer is not {}.",
    ]
    said = [way.format(target) for way, target in zip(ways, targets, strict=True)]
    ours = run_harness(task, documents, chosen, saying(reader, said))
    theirs = own_run(
        reader, tmp_path, f"bbh/cot_fewshot/{group}.yaml", documents, chosen, said=said
    )
    assert [s.score for s in ours.samples] == [float(s["exact_match"]) for s in theirs]
    assert [s.parsed_answer for s in ours.samples] == [s["filtered_resps"][0] for s in theirs]
    assert ours.samples[0].score == 1.0
    assert ours.samples[5].score == 0.0


def test_a_group_that_lm_eval_does_not_have_is_named(reader: Any, tmp_path: Path) -> None:
    rows = [{"input": "1 is", "target": "1", "subtask": "../../gsm8k"}]
    task = wire_task("bigbench_hard", write_rows(tmp_path / "d.jsonl", rows))
    with pytest.raises(CallFailure, match='"subtask" must be a name'):
        load_documents(task)
    rows[0]["subtask"] = "tea_leaves"
    task = wire_task("bigbench_hard", write_rows(tmp_path / "d.jsonl", rows))
    with pytest.raises(CallFailure, match=r"lm-eval has no document bbh/.*tea_leaves.yaml"):
        load_documents(task)


def test_truthfulqa_generation_is_scored_by_likeness(reader: Any, tmp_path: Path) -> None:
    file = benchmark_file("truthful_qa/generation.jsonl.gz")
    task = wire_task("truthfulqa_generation", file)
    documents = load_documents(task)
    rows = documents.rows[:3]
    true, false = rows[0]["correct_answers"], rows[1]["incorrect_answers"]
    # The longest ones: BLEU counts four words in a row, and some answers have two.
    said = [max(true, key=len), max(false, key=len), ""]
    outcome = run_harness(task, documents, [0, 1, 2], saying(reader, said))
    assert [s.score for s in outcome.samples] == [1.0, 0.0, 0.0]
    assert [s.answer for s in outcome.samples] == said
    task = short(task)
    ours = run_harness(task, documents, [0, 5], packed(reader))
    options = (task.definition or {})["generation_kwargs"]
    theirs = own_run(
        reader,
        tmp_path,
        "truthfulqa/truthfulqa_gen.yaml",
        documents,
        [0, 5],
        generation_kwargs=options,
    )
    assert [s.prompt_hash for s in ours.samples] == [str(s["prompt_hash"])[:16] for s in theirs]
    assert [s.score for s in ours.samples] == [float(s["bleu_acc"]) for s in theirs]


@pytest.mark.parametrize("name", ["hellaswag", "mmlu", "winogrande", "truthfulqa_mc2", "gsm8k"])
def test_a_protocol_is_the_same_in_every_process(name: str) -> None:
    """lm-eval's documents name functions, whose addresses differ from process to process."""
    plain = json.dumps(_plain(full_definition(wire_task(name))))
    assert " at 0x" not in plain
    assert name != "hellaswag" or "lm_eval.tasks.hellaswag.utils.process_docs" in plain


def test_parts_of_a_hub_dataset_become_groups(reader: Any, tmp_path: Path) -> None:
    """A folder that `datasets` loads by name, split and part, as it does from the hub."""
    folder = tmp_path / "bbh"
    for name in ("snarks", "navigate"):
        (folder / name).mkdir(parents=True)
        write_rows(folder / name / "test.jsonl", [{"input": f"{name}?", "target": "No"}] * 2)
    parts = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: test\n    path: {name}/test.jsonl\n"
        for name in ("snarks", "navigate")
    )
    (folder / "README.md").write_text(f"---\nconfigs:\n{parts}---\n", encoding="utf-8")
    task = wire_task("bigbench_hard")
    definition = json.loads(json.dumps(task.definition))
    definition["metadata"]["groups"]["hub_configs"] = ["snarks", "navigate"]
    task = dataclasses.replace(task, definition={**definition, "dataset_path": str(folder)})
    documents = load_documents(task)
    assert [row["subtask"] for row in documents.rows] == ["snarks"] * 2 + ["navigate"] * 2
    assert documents.examples == []
    outcome = run_harness(task, documents, [1, 2], saying(reader, ["the answer is No."] * 2))
    assert [s.score for s in outcome.samples] == [1.0, 1.0]


def test_the_validation_split_of_the_hub_is_used_where_there_is_no_test_split(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "winogrande"
    folder.mkdir()
    row = {
        "sentence": "Ann called Bea as _ was ill.",
        "option1": "Ann",
        "option2": "Bea",
    }
    for split, count in (("train", 6), ("validation", 2)):
        write_rows(folder / f"{split}.jsonl", [{**row, "answer": "2"}] * count)
    task = wire_task("winogrande")
    definition = {
        **(task.definition or {}),
        "dataset_path": str(folder),
        "dataset_name": None,
    }
    documents = load_documents(dataclasses.replace(task, definition=definition))
    # Of the six examples those that are shown.
    assert (len(documents.rows), len(documents.examples)) == (2, task.few_shot) == (2, 5)
