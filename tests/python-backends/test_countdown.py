"""Countdown: the items never change, each can be solved, and an answer is reckoned, never run."""

from __future__ import annotations

import re

import pytest
from evaluation_fixtures import wire_tasks

from pare_backends.evaluation.scorers.countdown import (
    expression_of,
    read_expression,
    reckon,
    solves,
)
from pare_backends.evaluation.tasks.countdown import TARGETS, items
from pare_backends.evaluation.tasks.documents import load_documents

SHA256 = "b1e927d90998678a5f6c7496ded149cb8aff3199481a81ba76005928da4c5dfd"


def test_the_items_are_the_same_for_ever() -> None:
    documents = load_documents(wire_tasks()["countdown"])
    assert documents.sha256 == SHA256
    assert documents.rows == items(1000, 42)
    assert items(20, 42) == documents.rows[:20]
    assert items(20, 43) != items(20, 42)


def test_every_item_has_the_solution_that_it_was_made_by() -> None:
    rows = items(1000, 42)
    assert len({row["problem"] for row in rows}) == 1000
    for row in rows:
        assert solves(row["solution"], row["target"], row["numbers"]), row
        assert row["target"] in TARGETS
        assert row["target"] not in row["numbers"]
        used = sorted(int(n) for n in re.findall(r"\d+", row["solution"]))
        assert used == sorted(row["numbers"])


def test_the_worked_examples_are_right_and_no_items() -> None:
    examples = (wire_tasks()["countdown"].definition or {})["fewshot_config"]["samples"]
    problems = {row["problem"] for row in items(1000, 42)}
    for example in examples:
        problem = f"{example['target']} from {', '.join(map(str, example['numbers']))}"
        assert read_expression(example["solution"], problem).right, example
        assert problem not in problems


@pytest.mark.parametrize(
    ("text", "answer", "right"),
    [
        ("3 * 8", "3 * 8", True),
        (" 3 * 8 = 24", "3 * 8", True),
        ("\n\nAnswer: (5 - 1) * 6", "(5 - 1) * 6", False),
        ("8*3*1\nand so on", "8*3*1", True),
        ("3 \u00d7 8", "3 * 8", True),
        ("24", "24", False),
        ("3 * 8 * 1 * 1", "3 * 8 * 1 * 1", False),
        ("3 + 8", "3 + 8", False),
        ("8 / (3 - 3)", "8 / (3 - 3)", False),
        ("-(-24)", "-(-24)", False),
        ("2 ** 3 * 3", "2 ** 3 * 3", False),
        ("3 // 1 * 8", "3 // 1 * 8", False),
        ("I do not know", None, False),
        ("", None, False),
        ("__import__('os').system('true') + 24", "__import__('os').system('true') + 24", False),
        ("(lambda: 24)()", "(lambda: 24)()", False),
    ],
)
def test_an_answer_is_reckoned(text: str, answer: str | None, right: bool) -> None:
    reading = read_expression(text, "24 from 3, 8, 1, 5")
    assert (reading.answer, reading.right) == (answer, right)


def test_what_would_cost_time_or_memory_is_not_reckoned() -> None:
    assert reckon("9" * 300) is None
    assert reckon("(" * 150 + "1" + ")" * 49) is None
    assert reckon("9**9**9") is None
    assert expression_of("x" * 10**6) is None
    assert reckon("1/3*3") == (1, [1, 3, 3])
