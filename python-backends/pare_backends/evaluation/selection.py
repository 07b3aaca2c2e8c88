"""Which rows a fidelity takes: seeded, the proxy's among the full ones."""

from __future__ import annotations

import random


def choose_rows(
    total: int, proxy: int, full: int | None, seed: int, task: str
) -> tuple[list[int], list[int]]:
    """Row numbers of proxy and full, ascending. Full takes all rows where `full` is None or more
    than there are; the proxy's rows are drawn among the full ones. The task's name takes part in
    the seed, so that two tasks of one length do not take the same rows."""
    draw = random.Random(f"{seed}/{task}")
    count = total if full is None else min(full, total)
    everything = draw.sample(range(total), count)
    return sorted(everything[: min(proxy, count)]), sorted(everything)
