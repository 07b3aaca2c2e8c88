"""Countdown, made here: reach a number by + - * / from a few others, each used at most once.

The form is that of the numbers game as language models are asked it (four numbers of 1 to 100, a
target of 10 to 100). An item is made backwards: the numbers are drawn and joined by drawn
operations until one is left, so that there is a solution by construction. Every step is a whole
number above 0, as in the game. The same version, seed and count give the same items for ever: what
is drawn comes from SHA-256, not from a library's generator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pare_backends.evaluation.tasks.draws import draws

VERSION = 1
NUMBERS = 4
LARGEST_NUMBER = 100
TARGETS = range(10, 101)
Term = tuple[int, str]


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
