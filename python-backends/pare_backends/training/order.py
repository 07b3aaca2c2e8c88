"""Which windows a step reads."""

from __future__ import annotations

import random


def numbers_of(step: int, batch: int, count: int, seed: int) -> list[int]:
    """Numbers of the windows of a step, counted from 0: every window once, in an order that the
    seed draws, then all again in another order."""
    places = range(step * batch, (step + 1) * batch)
    orders = {epoch: order(count, seed, epoch) for epoch in {place // count for place in places}}
    return [orders[place // count][place % count] for place in places]


def order(count: int, seed: int, epoch: int) -> list[int]:
    """All numbers up to `count`, as an epoch reads them."""
    numbers = list(range(count))
    random.Random(f"{seed}/{epoch}").shuffle(numbers)
    return numbers
