"""Every reference solution of HumanEval and MBPP must pass in the sandbox, and a broken one fail.

A few here; every nth beside them where PARE_TEST_PROGRAMS_EVERY is n, as the long tests do.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from evaluation_fixtures import benchmark_file

from pare_backends.evaluation.scorers.programs_pass import humaneval, mbpp
from pare_backends.evaluation.tasks.records import Row, read_records
from pare_backends.sandbox.verdict import CodeTest, judge, sandbox_problem

pytestmark = pytest.mark.skipif(sandbox_problem() is not None, reason=str(sandbox_problem()))
EVERY = int(os.environ.get("PARE_TEST_PROGRAMS_EVERY", "0"))
# Helpers in the prompt, loops with a reference, tolerances, assignments in the test.
ODD_HUMANEVAL = {f"HumanEval/{n}" for n in (2, 32, 38, 44, 50, 53, 129, 151)}
# A builtin's name, a tree made by the set-up, types as arguments, an import, a class.
ODD_MBPP = {126, 367, 533, 596, 601, 927}


def failures(
    rows: list[Row], program_of: Callable[[Row], tuple[str, CodeTest]]
) -> list[tuple[Any, str]]:
    """Rows whose program does not pass, with why."""

    def verdict(row: Row) -> tuple[Any, str]:
        program, test = program_of(row)
        return row["task_id"], judge(program, test).how

    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return [found for found in threads.map(verdict, rows) if found[1] != "passed"]


def chosen(rows: list[Row], odd: set[Any]) -> list[Row]:
    """The odd ones, and every nth of all."""
    some = [
        row for n, row in enumerate(rows) if row["task_id"] in odd or (EVERY and n % EVERY == 0)
    ]
    assert len(some) >= max(len(odd), len(rows) // (EVERY or len(rows)))
    return some


def solved(row: Row) -> tuple[str, CodeTest]:
    beginning, test = humaneval(row)
    return beginning + row["canonical_solution"], test


def test_reference_solutions_of_humaneval_pass() -> None:
    rows = read_records(benchmark_file("humaneval/test.jsonl.gz"))
    assert failures(chosen(rows, ODD_HUMANEVAL), solved) == []


def test_reference_solutions_of_mbpp_pass() -> None:
    rows = read_records(benchmark_file("mbpp/full.jsonl.gz"))
    solutions = chosen(rows, ODD_MBPP)
    assert failures(solutions, lambda row: (row["code"], mbpp(row)[1])) == []


def test_no_test_is_met_by_a_program_that_gives_nothing() -> None:
    """No problem's test passes without an answer: a mistake in how tests are run would show."""
    humans = read_records(benchmark_file("humaneval/test.jsonl.gz"))
    shorts = read_records(benchmark_file("mbpp/full.jsonl.gz"))
    nothing = "def {}(*_, **__):\n    return None"
    some = chosen(humans, {f"HumanEval/{n}" for n in range(6)})
    empty = failures(some, lambda row: (nothing.format(row["entry_point"]), humaneval(row)[1]))
    assert len(empty) == len(some)

    def said_nothing(row: Row) -> tuple[str, CodeTest]:
        test = mbpp(row)[1]
        return "\n".join(nothing.format(name) for name in test.names), test

    some = chosen(shorts, {row["task_id"] for row in shorts[10:16]})
    assert len(failures(some, said_nothing)) == len(some)
