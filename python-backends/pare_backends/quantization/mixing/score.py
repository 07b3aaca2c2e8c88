"""A layer's score in a format, and the file of those that a killed pass has made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

SCORERS = {
    **{"kl": "nats per token", "fisher": "nats per token", "reconstruction": "1"},
    "auto_scheme": "1",
}
"""Each with the unit of its values."""


@dataclass(frozen=True)
class Score:
    """`LayerScore` of the wire: a layer in a format, by a scorer."""

    layer: str
    layer_index: int
    part: str  # linear, embedding or head
    format: str
    weight_bits: float
    size_bytes: int
    scorer: str
    value: float
    standard_error: float | None  # over tokens; kl alone has one
    unit: str
    n: int | None  # tokens; None: another program's file does not say
    # Index of the first layer that is given the same input, as K is what Q is; None: not known.
    shares_input: int | None


def read_kept(path: Path | None) -> dict[str, list[Score]]:
    """The layers that an earlier pass has scored; a line that a kill cut off counts as none."""
    found: dict[str, list[Score]] = {}
    if path is None or not path.exists():
        return found
    for line in path.read_text().splitlines():
        try:
            kept = json.loads(line)
            found[kept["layer"]] = [Score(**row) for row in kept["scores"]]
        except (ValueError, KeyError, TypeError):
            continue
    return found


def keep(path: Path | None, layer: str, scores: Sequence[Score]) -> None:
    """Adds a layer to the file; a torn last line is ended first."""
    if path is None:
        return
    with path.open("a") as file:
        line = json.dumps({"layer": layer, "scores": [asdict(one) for one in scores]})
        file.write(f"\n{line}\n")
