"""Means over strata, and the score of guessing, sample by sample."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchmark_fixtures import packed
from evaluation_fixtures import benchmark_file, wire_task, words, write_rows

from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.outcome import TaskOutcome, measurements
from pare_backends.evaluation.strata import mean_chance, stratified
from pare_backends.evaluation.tasks.chance import choices_in, names_choice
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.lm_groups import group_measurements
from pare_backends.evaluation.tasks.wire_task import GroupMember, WireTask


def test_strata_count_by_their_rows_the_error_too() -> None:
    """By hand, as tests/core/evidence_strata_test.ts has it."""
    names, sizes = ["law", "law", "art", "art"], {"law": 300, "art": 100, "unseen": 900}
    mean, error = stratified(names, [1, 0, 1, 1], sizes)
    assert (mean, error) == (0.625, pytest.approx(math.sqrt(0.75**2 * 0.5 / 2)))
    # A stratum of one takes the pooled variance; where all have one, that of all together.
    _, error = stratified(["law", "law", "art"], [1, 0, 1], sizes)
    assert error == pytest.approx(math.sqrt(0.75**2 * 0.5 / 2 + 0.25**2 * 0.5))
    alike = dict.fromkeys("abcd", 1)
    assert stratified(list("abcd"), [1, 0, 0, 1], alike) == (0.5, pytest.approx(math.sqrt(1 / 12)))
    assert stratified(["law"], [1], sizes) == (1, None)
    assert mean_chance(names, [0.5, 0.5, 0.1, 0.1], sizes) == pytest.approx(0.4)
    assert mean_chance(names, [0.5, 0.5, 0.1, None], sizes) is None


SIZES = {"marine_biology": 12, "law_of_the_sea": 4, "art": 2}


def subjects(folder: Path) -> tuple[WireTask, list[dict[str, Any]]]:
    """MMLU without examples over subjects of different sizes, in turn as the sizes allow."""
    rows = [
        {
            "question": words(6, 31 * i),
            "subject": name,
            "choices": [words(1, 7 * i + k) for k in range(4)],
            "answer": (i + i // 3) % 4,
        }
        for i in range(max(SIZES.values()))
        for name, size in SIZES.items()
        if i < size
    ]
    path = write_rows(folder / "test.jsonl", rows)
    task = wire_task("mmlu", path, few_shot=0)
    definition = {**(task.definition or {})}
    groups = {k: v for k, v in definition["metadata"]["groups"].items() if k != "include"}
    definition["metadata"] = {**definition["metadata"], "groups": groups}
    return dataclasses.replace(task, definition=definition), rows


def answer_by(rows: list[dict[str, Any]], chosen: list[int], path: str | None) -> None:
    """Makes what was chosen right in marine biology, once in law, and never in art."""
    for number, (row, choice) in enumerate(zip(rows, chosen, strict=True)):
        right = row["subject"] == "marine_biology" or number == 1
        row["answer"] = choice if right else (choice + 1) % 4
    write_rows(Path(str(path)), rows)


def test_equal_shares_of_unequal_subjects_give_the_benchmarks_mean(
    tmp_path: Path, reader: Any
) -> None:
    task, rows = subjects(tmp_path)
    first = run_harness(task, load_documents(task), range(len(rows)), packed(reader))
    answer_by(rows, [int(one.chosen or 0) for one in first.samples], task.data_path)
    documents = load_documents(task)
    whole = run_harness(task, documents, range(len(rows)), packed(reader), weigh_strata=True)
    plain = run_harness(task, documents, range(len(rows)), packed(reader))
    assert (whole.value, whole.standard_error, whole.protocol) == (
        plain.value,
        plain.standard_error,
        plain.protocol,
    ), "of all rows nothing is weighed"
    scores = [sample.score for sample in whole.samples]
    chosen = range(6)
    assert Counter(rows[n]["subject"] for n in chosen) == dict.fromkeys(SIZES, 2)
    part = run_harness(task, documents, chosen, packed(reader), weigh_strata=True)
    own = {name: [scores[n] for n in chosen if rows[n]["subject"] == name] for name in SIZES}
    expected = sum(SIZES[name] * sum(own[name]) / 2 for name in SIZES) / len(rows)
    assert part.value == pytest.approx(expected)
    alike = run_harness(task, documents, chosen, packed(reader))
    assert alike.value == pytest.approx(sum(map(sum, own.values())) / 6)
    assert alike.value != part.value, "subjects that score alike would hide how they are weighed"
    slices = {one.slice: one for one in part.slices}
    assert (slices["weighted_by_size"].value, slices["weighted_by_size"].standard_error) == (
        part.value,
        part.standard_error,
    )
    assert slices["mean_of_subjects"].value == pytest.approx(alike.value)
    assert [(s.stratum, s.stratum_rows) for s in part.samples] == [
        (rows[n]["subject"], SIZES[rows[n]["subject"]]) for n in chosen
    ]
    assert all(one.stratum_rows is None for one in whole.samples)
    # Another weighing is another protocol, by name.
    assert part.protocol != alike.protocol
    assert set(part.protocol_parts) - set(alike.protocol_parts) == {"weighing"}
    assert "each subject weighed by its rows in the data" in part.how
    wire = measurements(part, "proxy", "cpu")
    assert {m["slice"]: m.get("stratum_rows") for m in wire if m["slice"] in SIZES} == SIZES
    assert {m["chance"] for m in wire} == {0.25}


def test_a_part_of_a_groups_tasks_counts_by_their_rows(reader: Any, tmp_path: Path) -> None:
    def outcome(name: str, value: float, error: float, n: int, rows: int) -> TaskOutcome:
        member = GroupMember("own", True, 2)
        task = wire_task("mmlu", None, task=name, member_of=[member])
        samples: list[Any] = [None] * n
        return TaskOutcome(
            task, value, error, samples, "", {}, "", 0, 0, chance=value / 2, rows=rows
        )

    pair = [outcome("law", 0.2, 0.03, 10, 900), outcome("art", 0.6, 0.04, 10, 100)]
    (group,) = group_measurements(pair, "proxy", "cpu")
    assert group["value"] == pytest.approx(0.24)
    assert group["standard_error"] == pytest.approx(math.hypot(0.9 * 0.03, 0.1 * 0.04))
    assert (group["n"], group["chance"]) == (20, pytest.approx(0.12))


@pytest.mark.parametrize(
    ("text", "target", "choices"),
    [
        ("Which?\nOptions:\n(A) one\n(B) two\n(C) three", "(B)", 3),
        ("(A), then (B)? Options: (A) one (B) two", "(A)", 2),
        ("Is it so?\nOptions:\n- Yes\n- No", "No", 2),
        ("Is it valid?\nOptions:\n- valid \n- invalid", "valid", 2),
        ("not ( True ) is", "False", 2),
        ("Q: Does she lie?\nA:", "Yes", 2),
        ("A. one\nB. two\nC. three\nAnswer:", "C", 3),
        ("Q: Which letter?\nA:", "C", None),
    ],
)
def test_choices_are_counted_where_the_text_shows_them(
    text: str, target: str, choices: int | None
) -> None:
    assert names_choice(text, target)
    assert choices_in(text, target) == choices


def test_free_answers_name_no_choice() -> None:
    for target in ("42", "] >", "syndrome therefrom", ["A", "B"], "Paris"):
        assert not names_choice("Q: How many?\nA:", target)


FREE = {"dyck_languages", "multistep_arithmetic_two", "object_counting", "word_sorting"}
HALF = {"boolean_expressions", "causal_judgement", "formal_fallacies", "hyperbaton", "navigate"}
HALF |= {"snarks", "sports_understanding", "web_of_lies"}
SEVENTH = {
    f"{name}_seven_objects": 1 / 7 for name in ("logical_deduction", "tracking_shuffled_objects")
}


def test_bbhs_chance_is_that_of_each_parts_options(reader: Any) -> None:
    task = wire_task("bigbench_hard", benchmark_file("bbh/test.jsonl.gz"))
    documents = load_documents(task)
    model = packed(reader)
    model.generate_until = lambda asked, **_: ["So the answer is nothing."] * len(asked)
    every = range(0, len(documents.rows), 5)
    outcome = run_harness(task, documents, every, model, weigh_strata=True)
    found = {one.slice: one.chance for one in outcome.slices}
    assert {name for name, chance in found.items() if chance == 0} == FREE
    assert {name for name, chance in found.items() if chance == 0.5} == HALF
    assert {name: found[name] for name in SEVENTH} == pytest.approx(SEVENTH)
    assert found["temporal_sequences"] == 0.25
    assert 1 / 6 <= (found["date_understanding"] or 0) <= 1 / 5
    assert outcome.chance == pytest.approx(task.chance, abs=0.005)
