"""Countdown: an expression that must reach a target from a few numbers, each used at most once.

It is read by Python's parser and reckoned in fractions; nothing is run.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pare_backends.evaluation.scoring.answer import Answer, Score
from pare_backends.evaluation.scoring.readings import Reading, best_reading
from pare_backends.evaluation.tasks.records import Row

LONGEST_ANSWER = 200
"""Characters of an expression that are read: the longest right one has fewer than 40."""

OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}


@dataclass(frozen=True)
class Params:
    gold: str
    """Field of the row that holds the problem in words: "24 from 3, 8, 1"."""


def score(answer: Answer, row: Row, params: Params) -> Score:
    """Right where the expression reaches the problem's target from its numbers."""
    return best_reading(read_expression, answer, row[params.gold])


def read_expression(text: str, problem: str) -> Reading:
    """The expression of a text, right where it solves the problem."""
    return Reading(*read_solution(text, problem))


def expression_of(text: str) -> str | None:
    """The expression of a generation: its first line that holds a digit, after "Answer:" where that
    stands, before an equals sign; None: there is none."""
    line = next((line for line in text.splitlines() if re.search(r"\d", line)), None)
    if line is None:
        return None
    plain = line.rpartition("Answer:")[2].partition("=")[0]
    plain = plain.replace("\u00d7", "*").replace("\u00f7", "/").replace("\u2212", "-").strip(" .$`")
    return plain or None


def reckon(expression: str) -> tuple[Fraction, list[int]] | None:
    """The value of an expression and the numbers that stand in it; None where it is anything but
    whole numbers, + - * / and brackets, or divides by 0."""
    if len(expression) > LONGEST_ANSWER or not re.fullmatch(r"[\d\s+\-*/()]+", expression):
        return None
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        used: list[int] = []
        return _value(tree, used), used
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr, used: list[int]) -> Fraction:
    """The value of a node; its numbers are added to `used`. Raises `ValueError` for all else."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        used.append(node.value)
        return Fraction(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        left, right = _value(node.left, used), _value(node.right, used)
        return OPERATIONS[type(node.op)](left, right)
    raise ValueError(f"no arithmetic: {type(node).__name__}")


def solves(expression: str, target: int, numbers: Sequence[int]) -> bool:
    """Whether an expression gives the target with each of the numbers at most once."""
    reckoned = reckon(expression)
    if reckoned is None:
        return False
    value, used = reckoned
    return value == target and not Counter(used) - Counter(numbers)


def read_solution(text: str, problem: str) -> tuple[str | None, bool]:
    """The expression of a generation, and whether it solves `problem` ("24 from 3, 8, 1")."""
    target, _, numbers = problem.partition(" from ")
    expression = expression_of(text)
    if expression is None:
        return None, False
    return expression, solves(expression, int(target), [int(n) for n in numbers.split(",")])
