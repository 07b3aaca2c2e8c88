"""Countdown, made here: reach a number by + - * / from a few others, each used at most once.

The form is that of the numbers game as language models are asked it (four numbers of 1 to 100, a
target of 10 to 100). An item is made backwards: the numbers are drawn and joined by drawn
operations until one is left, so that there is a solution by construction. Every step is a whole
number above 0, as in the game. The same version, seed and count give the same items for ever: what
is drawn comes from SHA-256, not from a library's generator.

An answer is an expression, read by Python's parser and reckoned in fractions; nothing is run.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

VERSION = 1
NUMBERS = 4
LARGEST_NUMBER = 100
TARGETS = range(10, 101)
LONGEST_ANSWER = 200
"""Characters of an expression that are read: the longest right one has fewer than 40."""

Term = tuple[int, str]
OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}


def draws(label: str) -> Iterator[int]:
    """Whole numbers below 2^32 without end, the same for a label on every machine."""
    block = 0
    while True:
        digest = hashlib.sha256(f"{label}/{block}".encode()).digest()
        for start in range(0, 32, 4):
            yield int.from_bytes(digest[start : start + 4], "big")
        block += 1


def items(count: int, seed: int) -> list[dict[str, Any]]:
    """The first `count` items of a seed, no two with the same numbers and target: `numbers`,
    `target`, `problem` (both in words, what an answer is checked against) and a `solution`."""
    found: dict[str, dict[str, Any]] = {}
    number = 0
    while len(found) < count:
        random = draws(f"countdown {VERSION}/{seed}/{number}")
        number += 1
        numbers = [1 + next(random) % LARGEST_NUMBER for _ in range(NUMBERS)]
        target, solution = _join([(n, str(n)) for n in numbers], random)
        # A target among the numbers, or a solution that is not needed whole, would ask for nothing.
        if target not in TARGETS or target in numbers:
            continue
        problem = f"{target} from {', '.join(map(str, numbers))}"
        key = f"{target} from {sorted(numbers)}"
        found.setdefault(
            key,
            {"numbers": numbers, "target": target, "problem": problem, "solution": solution},
        )
    return list(found.values())


def _join(terms: list[Term], random: Iterator[int]) -> Term:
    """Two drawn terms become one by a drawn operation, until one is left."""
    while len(terms) > 1:
        a = terms.pop(next(random) % len(terms))
        b = terms.pop(next(random) % len(terms))
        large, small = max(a, b), min(a, b)
        possible = [(large[0] + small[0], "+"), (large[0] * small[0], "*")]
        if large[0] > small[0]:
            possible.append((large[0] - small[0], "-"))
        if large[0] % small[0] == 0:
            possible.append((large[0] // small[0], "/"))
        value, sign = possible[next(random) % len(possible)]
        terms.append((value, f"({large[1]} {sign} {small[1]})"))
    value, text = terms[0]
    return value, text[1:-1]


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
