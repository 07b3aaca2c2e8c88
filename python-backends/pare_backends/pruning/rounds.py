"""A cut in rounds: how many are left after each of them."""

from __future__ import annotations


def left_by_round(count: int, kept: int, rounds: int, strata: int = 1) -> list[int]:
    """Units that are left after each round, the last `kept`: each round cuts the same share r_k of
    what it meets, (1 - r_k)^rounds = kept / count, as many from each stratum.

    count, kept: multiples of `strata`
    """
    share = kept / count
    own, least = count // strata, kept // strata
    steps = [round(own * share ** (done / rounds)) for done in range(1, rounds)]
    return [strata * max(least, step) for step in steps] + [kept]
