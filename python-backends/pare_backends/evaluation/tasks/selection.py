"""In which order the rows of a task are taken."""

from __future__ import annotations

import random


def drawn_order(total: int, seed: int, task: str) -> list[int]:
    """Every row number once, in an order that the seed draws; who takes a few takes the first of
    them. The task's name takes part in the seed, so that two tasks of one length do not take the
    same rows."""
    return random.Random(f"{seed}/{task}").sample(range(total), total)
