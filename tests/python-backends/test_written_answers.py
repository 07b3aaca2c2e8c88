"""Benchmarks whose written answer is read and compared: TriviaQA, SQuAD and MATH."""

from __future__ import annotations

import importlib.metadata
import json
import statistics
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from benchmark_fixtures import own_run, packed, saying, short
from evaluation_fixtures import wire_task, write_rows

from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.outcome import measurements
from pare_backends.evaluation.scorers.contains import read_contained
from pare_backends.evaluation.scorers.contains_span import read_span
from pare_backends.evaluation.scorers.last_box import final_answer, read_boxed
from pare_backends.evaluation.scoring.answer import OWN, Answer
from pare_backends.evaluation.scoring.readings import best_reading
from pare_backends.evaluation.tasks.documents import (
    load_documents,
)
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure

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
    said = Answer(texts=("city of Rome",))
    several = best_reading(read_span, said, ["Roma", "Rome", "the city of Rome"])
    assert several.values == {OWN: 1.0, "exact_match": 1.0, "f1": 1.0}


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
    with pytest.raises(CallFailure, match="it has no box"):
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
