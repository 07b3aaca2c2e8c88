"""What each method of the cache keeps of a prompt, by its definition in plain loops."""

from __future__ import annotations

import math
from typing import Any

Row = list[float]


def attention(queries: list[Row], keys: list[Row], scaling: float) -> list[Row]:
    """Causal softmax attention of one query head: a row for each token of the prompt."""
    rows = []
    for at, query in enumerate(queries):
        dots = [scaling * math.fsum(map(float.__mul__, query, key)) for key in keys[: at + 1]]
        powers = [math.exp(dot - max(dots)) for dot in dots]
        rows.append([power / math.fsum(powers) for power in powers] + [0.0] * (len(keys) - at - 1))
    return rows


def paid(maps: list[list[Row]], rows: slice, most: bool = False) -> Row:
    """What each key gets of some rows: the mean over the query heads of a group, or the most."""
    found = []
    for key in range(len(maps[0])):
        heads = [math.fsum(row[key] for row in head[rows]) for head in maps]
        found.append(max(heads) if most else math.fsum(heads) / len(heads))
    return found


def pooled(scores: Row, kernel: int, pool: str) -> Row:
    """Each with its neighbours; what is beyond the ends counts as 0, in a mean too."""
    half, found = kernel // 2, []
    for at in range(len(scores)):
        near = scores[max(0, at - half) : at + half + 1]
        found.append(max(near) if pool == "max" else math.fsum(near) / kernel)
    return found


def best(scores: Row, count: int, budget: int, sinks: int, window: int) -> set[int]:
    """Sinks, window, and of the others those of the highest scores; of equal ones the earlier."""
    always = {*range(min(sinks, count)), *range(count - window, count)}
    others = sorted(
        (key for key in range(len(scores)) if key not in always), key=lambda k: -scores[k]
    )
    return always | set(others[: budget - len(always)])


def kept(method: str, knobs: dict[str, Any], group: list[Any], layer: Any) -> set[int]:
    """Of one head of keys. group: (queries, keys) of each query head that reads it, and of every
    head of the layer in `layer["all"]`, with `scaling`, `layer` and `layers`."""
    budget, sinks, window = knobs["budget"], knobs["sinks"], knobs["window"]
    maps = [attention(queries, keys, layer["scaling"]) for queries, keys in group]
    count, most = len(maps[0]), knobs.get("granularity") == "kv_head_max"
    if method in ("snapkv", "pyramidkv"):
        before = paid(maps, slice(count - window, None), most)[: count - window]
        scores = pooled(before, knobs["kernel"], knobs["pool"])
        if method == "pyramidkv":
            budget = pyramid(knobs, count, layer["layers"])[layer["layer"]]
    elif method == "h2o":
        scores = paid(maps, slice(None), most)
        window = math.floor(knobs["recent_share"] * budget) or window
    elif method == "tova":
        everyone = [attention(queries, keys, layer["scaling"]) for queries, keys in layer["all"]]
        scores = paid(everyone, slice(-1, None))
    else:
        assert method == "knorm"
        scores = [-math.sqrt(math.fsum(x * x for x in key)) for key in group[0][1]]
    return best(scores, count, budget, sinks, window)


def pyramid(knobs: dict[str, Any], count: int, layers: int) -> list[int]:
    """Budgets on the straight line, in whole tokens."""
    always = knobs["sinks"] + knobs["window"]
    mean, most = knobs["budget"] - always, count - always
    low = mean // knobs["beta"]
    high = 2 * mean - low
    if high > most:
        high, low = most, 2 * mean - most
    if most < 2 * mean:
        high = low = mean
    exact = [high - layer * (high - low) / (layers - 1) for layer in range(layers)]
    middle = (layers - 1) / 2  # rounded away from it, so that the sum stays
    return [
        always + (math.ceil(round(one, 6)) if layer < middle else math.floor(round(one, 6)))
        for layer, one in enumerate(exact)
    ]
