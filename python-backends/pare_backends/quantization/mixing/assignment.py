"""Which format each layer has, in one text: `2-bit-g32=0-3,9 4-bit-g64=4-8`.

The numbers are the layers' places in the model's order, from 0; every layer stands once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pare_backends.failures import CallFailure
from pare_backends.quantization.mixing.formats import Format, format_of

NONE = "none"
RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def assignment_text(chosen: Mapping[str, str], layers: Sequence[str]) -> str:
    """The text of a mix: by layer the format's name. layers: in the model's order"""
    places: dict[str, list[int]] = {}
    for number, layer in enumerate(layers):
        places.setdefault(chosen[layer], []).append(number)
    return " ".join(f"{name}={ranges(places[name])}" for name in sorted(places))


def ranges(numbers: Sequence[int]) -> str:
    """1, 2, 3, 7 -> "1-3,7". numbers: ascending"""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def assigned(text: str, layers: Sequence[str]) -> dict[str, Format]:
    """The mix of a text, by layer in the model's order; raises as `named` does."""
    return {layer: format_of(name) for layer, name in named(text, layers).items()}


def named(text: str, layers: Sequence[str]) -> dict[str, str]:
    """The names of a text's formats, by layer in the model's order.

    raises: CallFailure "invalid" where a layer has no format, or two, or is not of the model
    """
    found: dict[int, str] = {}
    for part in text.split():
        name, _, places = part.partition("=")
        for place in places.split(","):
            match = RANGE.fullmatch(place)
            if match is None:
                raise refused(f"{place!r} of {name} is no layer's number and no range of them")
            first = int(match[1])
            last = int(match[2] or match[1])
            if last < first or last >= len(layers):
                raise refused(f"{name} is for layers {place}, the model's are 0-{len(layers) - 1}")
            for number in range(first, last + 1):
                if number in found:
                    raise refused(f"layer {number} ({layers[number]}) has two formats")
                found[number] = name
    missing = [number for number in range(len(layers)) if number not in found]
    if missing:
        raise refused(f"{len(missing)} layers have no format, such as {layers[missing[0]]}")
    return {layer: found[number] for number, layer in enumerate(layers)}


def refused(why: str) -> CallFailure:
    return CallFailure(
        "invalid",
        f"Cannot mix formats as they are assigned: {why}",
        hint="Write FORMAT=LAYERS for every layer of the model, such as 4-bit-g64=0-8,10",
    )
