"""Benchmarks that are generated: answer rules, groups, and lm-eval's own tasks beside pare's."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import statistics
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmark_fixtures import own_run, packed, reading_model
from evaluation_fixtures import benchmark_file, wire_task, write_rows

from pare_backends.evaluation.answer_rules import (
    final_number,
    read_best,
    read_boxed,
    read_contained,
    read_number,
    read_span,
)
from pare_backends.evaluation.boxed import final_answer
from pare_backends.evaluation.documents import (
    Documents,
    full_definition,
    load_documents,
)
from pare_backends.evaluation.harness import _plain, run_harness
from pare_backends.evaluation.outcome import measurements
from pare_backends.evaluation.wire import WireTask
from pare_backends.failures import StageFailure


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return reading_model(tmp_path_factory.mktemp("reader"))


def saying(reader: Any, answers: Sequence[str]) -> Any:
    """pare's evaluator over a model that is made to say these, in order of the requests."""
    model, queue = packed(reader), list(answers)
    model.generate_until = lambda asked, **_: [queue.pop(0) for _ in asked]
    return model


def short(task: WireTask, tokens: int = 12) -> WireTask:
    """The task with generations of so many tokens."""
    definition = dict(task.definition or {})
    until = definition.get("generation_kwargs", {}).get("until", ["\n\n"])
    options = {"max_gen_toks": tokens, "until": until, "do_sample": False}
    return dataclasses.replace(task, definition={**definition, "generation_kwargs": options})


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
    with pytest.raises(StageFailure, match="it holds no number"):
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
    with pytest.raises(StageFailure, match='"subtask" must be a name'):
        load_documents(task)
    rows[0]["subtask"] = "tea_leaves"
    task = wire_task("bigbench_hard", write_rows(tmp_path / "d.jsonl", rows))
    with pytest.raises(StageFailure, match=r"lm-eval has no document bbh/.*tea_leaves.yaml"):
        load_documents(task)


# The records of these two and of MATH are not at hand: these rows are made up in their layout.
TRIVIA = [
    {
        "question": f"Which number follows {n}",
        "answer": {"aliases": [str(n + 1), f"No. {n + 1}"], "value": str(n + 1)},
    }
    for n in range(9)
]


def test_triviaqa_takes_any_name_of_the_answer(reader: Any, tmp_path: Path) -> None:
    write_rows(tmp_path / "train_exemplars.jsonl", TRIVIA[:5])
    task = wire_task("triviaqa", write_rows(tmp_path / "validation.jsonl", TRIVIA[5:]))
    documents = load_documents(task)
    said = [" 6", " no 7", " eight", " 9"]
    outcome = run_harness(task, documents, [0, 1, 2, 3], saying(reader, said))
    assert [s.score for s in outcome.samples] == [1.0, 1.0, 0.0, 1.0]
    assert json.loads(outcome.samples[0].gold or "") == ["6", "No. 6"]
    task = short(task, 4)
    ours = run_harness(task, documents, [0, 1], packed(reader))
    options = (task.definition or {})["generation_kwargs"]
    theirs = own_run(
        reader,
        tmp_path / "own",
        "triviaqa/default.yaml",
        documents,
        [0, 1],
        TRIVIA[:5],
        num_fewshot=5,
        generation_kwargs=options,
    )
    assert [s.prompt_hash for s in ours.samples] == [str(s["prompt_hash"])[:16] for s in theirs]
    assert [s.score for s in ours.samples] == [float(s["exact_match"]) for s in theirs]
    assert [s.parsed_answer for s in ours.samples] == [s["filtered_resps"][0] for s in theirs]


def test_squad_completion_holds_the_answer(reader: Any, tmp_path: Path) -> None:
    from lm_eval.tasks.squad_completion.task import contains_score

    rows = [{"text": " The capital of France is ", "value": " Paris "}] * 3
    task = wire_task("squad_completion", write_rows(tmp_path / "validation.jsonl", rows))
    said = ["the city of PARIS, of course", "Lyon", "Paris (Texas)"]
    outcome = run_harness(task, load_documents(task), [0, 1, 2], saying(reader, said))
    assert [s.score for s in outcome.samples] == [1.0, 0.0, 1.0]
    assert [s.score for s in outcome.samples] == [contains_score(text, ["Paris"]) for text in said]
    assert read_contained("a.b", "a+b").right is False


def test_squads_exact_match_and_f1_stand_beside_the_accuracy(reader: Any, tmp_path: Path) -> None:
    """By hand from the benchmark's definition: words without case, punctuation and articles."""
    golds = [" the  Red Cross ", "Paris", "City of Rome"]
    rows = [{"text": "It was ", "value": value} for value in golds]
    task = wire_task("squad_completion", write_rows(tmp_path / "validation.jsonl", rows))
    said = ["The red cross!", "a city, Paris", "city of Rome."]
    outcome = run_harness(task, load_documents(task), [0, 1, 2], saying(reader, said))
    # 2 of 3 alike: precision 1/2 of (city, paris), recall 1, so F1 2/3.
    expected = {"exact_match": [1, 0, 1], "f1": [1, 2 / 3, 1]}
    found = {one.metric: (one.value, one.standard_error) for one in outcome.beside}
    assert found == {
        metric: (
            pytest.approx(sum(scores) / 3),
            pytest.approx(statistics.stdev(scores) / 3**0.5),
        )
        for metric, scores in expected.items()
    }
    wire = measurements(outcome, "full", "cpu")
    assert [m["metric"] for m in wire] == ["accuracy", "exact_match", "f1"]
    assert {(m["task"], m["slice"], m["n"], m["chance"]) for m in wire} == {
        ("squad_completion", None, 3, 0.0)
    }
    assert read_span("", "the").beside == {"exact_match": 1.0, "f1": 1.0}
    assert read_span("", "Rome").beside == {"exact_match": 0.0, "f1": 0.0}
    several = read_best(read_span, "city of Rome", ["Roma", "Rome", "the city of Rome"])
    assert (several.right, several.beside) == (True, {"exact_match": 1.0, "f1": 1.0})


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"It is $\boxed{5}$.", "5"),
        (r"First \boxed{4}, no: \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"So \fbox{7}", "7"),
        (r"\boxed{4} and \fbox{7}", "4"),
        (r"It is $\boxed 12$ of them", "12"),
        (r"It is \boxed {3}", "3"),
        (r"\boxed{1} and \boxed{2", None),
        ("Final Answer: The final answer is $[2,5)$. I hope it is correct.", "[2,5)"),
        (
            r"\boxed{1} Final Answer: The final answer is $2$. I hope it is correct.",
            "1",
        ),
        ("It is $5$.", None),
        ("", None),
    ],
)
def test_maths_answer_is_the_last_box(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer


@pytest.mark.parametrize("one", ["1/2", r"\frac12", r"\dfrac{1}{2}", "0.5", r"x = \frac{1}{2}"])
def test_maths_answers_are_compared_by_its_own_normalisation(one: str) -> None:
    assert read_boxed(rf"So $\boxed{{{one}}}$", r"It is $\boxed{\frac{1}{2}}$.").right
    assert not read_boxed(rf"So $\boxed{{{one}}}$", r"It is $\boxed{\frac{1}{3}}$.").right
    with pytest.raises(StageFailure, match="it has no box"):
        read_boxed("", "It is 4.")


SOLVED = [
    ("Prealgebra", r"So \boxed{\frac34}"),
    ("Prealgebra", r"So $\boxed{4}$"),
    ("Counting & Probability", r"So \boxed{12}"),
    ("Geometry", r"So \boxed{[2,5)}"),
]


def test_math_compares_boxed_answers_by_field(reader: Any, tmp_path: Path) -> None:
    task, said = math_task(tmp_path)
    outcome = run_harness(task, load_documents(task), range(4), saying(reader, said))
    assert [s.score for s in outcome.samples] == [1.0, 0.0, 1.0, 1.0]
    assert [s.gold for s in outcome.samples] == [r"\frac34", "4", "12", "[2,5)"]
    assert [s.parsed_answer for s in outcome.samples] == [
        r"\frac34",
        "5",
        "12",
        "[2,5)",
    ]
    values = {part.slice: part.value for part in outcome.slices}
    assert values["Prealgebra"] == 0.5
    assert values["mean_of_fields"] == pytest.approx(2.5 / 3)


def math_task(folder: Path) -> tuple[WireTask, list[str]]:
    """Four problems, and generations of which the second is wrong."""
    rows = [
        {"problem": f"What is {i}?", "type": field, "solution": solution}
        for i, (field, solution) in enumerate(SOLVED)
    ]
    answers = [r"\frac34", "5", "12", "[2,5)"]
    said = [
        rf"It is $\boxed{{{one}}}$."
        f"\nFinal Answer: The final answer is ${one}$. I hope it is correct."
        for one in answers
    ]
    return wire_task("hendrycks_math", write_rows(folder / "test.jsonl", rows)), said


def test_maths_prompts_and_scores_are_those_of_lm_evals_four_shot_task(
    reader: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """minerva_math needs packages that are not installed: what it takes of them is replaced, so
    that it compares its normalised texts."""

    def cannot_parse(_: str) -> None:
        raise TypeError

    verify = types.ModuleType("math_verify")
    vars(verify).update(parse=lambda text: text, verify=lambda **_: False)
    monkeypatch.setitem(sys.modules, "math_verify", verify)
    monkeypatch.setitem(sys.modules, "antlr4", types.ModuleType("antlr4"))
    monkeypatch.setattr("sympy.parsing.latex.parse_latex", cannot_parse)
    own = importlib.metadata.version
    monkeypatch.setattr(
        "importlib.metadata.version",
        lambda name: "4.11" if "antlr4" in name else own(name),
    )
    task, said = math_task(tmp_path)
    documents = load_documents(task)
    ours = run_harness(task, documents, range(4), saying(reader, said))
    options = (task.definition or {})["generation_kwargs"]
    theirs = own_run(
        reader,
        tmp_path / "own",
        "minerva_math/minerva_math_algebra.yaml",
        documents,
        range(4),
        said=said,
        generation_kwargs=options,
    )
    # By fields, as pare runs them, the rows keep their order.
    assert [s.prompt_hash for s in ours.samples] == [str(s["prompt_hash"])[:16] for s in theirs]
    assert [s.score for s in ours.samples] == [float(s["exact_match"]) for s in theirs]
    assert theirs[0]["arguments"][0][0].count("Problem:") == 5


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
