"""The decoder's blocks: which tensors of the files are whose, by the number in their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pare_backends.models.layout import Layout

NUMBERED = re.compile(r"(?P<prefix>.*?)(?P<number>\d+)\.(?P<own>.+)")
"""`model.layers.7.mlp.experts.3.w1`: the first number is the block's."""
NUMBER = re.compile(r"\.\d+\.")
"""An expert's, in a matrix's name inside its block."""

Key = tuple[str, tuple[int, int]]
"""(a matrix's name inside its block, without its expert's number; its (out, in))"""


@dataclass(frozen=True)
class Blocks:
    """One row of blocks, numbered from 0."""

    prefix: str  # of their names in the files, such as model.layers.
    module: str  # the list of modules that holds them in the model, such as model.layers
    count: int

    def name(self, number: int) -> str:
        """A block's name in the files."""
        return f"{self.prefix}{number}"

    def place(self, tensor: str) -> tuple[int, str] | None:
        """(block, the rest of the tensor's name); None: it is no block's."""
        found = NUMBERED.fullmatch(tensor)
        if found is None or found["prefix"] != self.prefix or int(found["number"]) >= self.count:
            return None
        return int(found["number"]), found["own"]


def blocks_of(layout: Layout) -> Blocks | None:
    """The blocks that hold the linear layers; None where these lie in several rows, or in none."""
    numbers: dict[tuple[str, str], set[int]] = {}
    for layer in layout.linear:
        in_file = NUMBERED.fullmatch(layer)
        in_model = NUMBERED.fullmatch(layout.modules[layer])
        if in_file is not None and in_model is not None:
            row = (in_file["prefix"], in_model["prefix"].removesuffix("."))
            numbers.setdefault(row, set()).add(int(in_file["number"]))
    if len(numbers) != 1:
        return None
    (prefix, module), found = next(iter(numbers.items()))
    return Blocks(prefix, module, len(found)) if max(found) == len(found) - 1 else None


def are_alike(blocks: Blocks, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether every block has the same tensors of the same shapes. shapes: by tensor name"""
    own: list[dict[str, tuple[int, ...]]] = [{} for _ in range(blocks.count)]
    for name, shape in shapes.items():
        place = blocks.place(name)
        if place is not None:
            own[place[0]][place[1]] = tuple(shape)
    return all(block == own[0] for block in own)


def block_parameters(
    layout: Layout, shapes: Mapping[str, tuple[int, ...]], counted: Mapping[str, int]
) -> int | None:
    """Parameters of all blocks together; None where they are no row of equals.

    counted: parameters by tensor name, without what is a copy of another
    """
    blocks = blocks_of(layout)
    own = {name: shapes[name] for name in counted}
    if blocks is None or not are_alike(blocks, own):
        return None
    return sum(counted[name] for name in tensors_of(blocks, counted))


def tensors_of(blocks: Blocks, names: Iterable[str]) -> list[str]:
    """Of these tensors those that lie in a block."""
    return [name for name in names if blocks.place(name) is not None]


def block_matrices(layout: Layout, shapes: Mapping[str, tuple[int, int]]) -> list[dict[str, Any]]:
    """A row for each matrix of a block, in the order in which a block has them.

    Of a mixture `experts` says how many of them a block has, `stacked` that its file holds them in
    one tensor: such layers are no linear ones of the layout.
    shapes: (out, in) by layer
    """
    blocks: dict[int, dict[Key, int]] = {}
    for layer in (*layout.linear, *layout.stacks):
        found = NUMBERED.fullmatch(layer)
        number, own = (-1, layer) if found is None else (int(found["number"]), found["own"])
        key = (NUMBER.sub(".", own), shapes[layer])
        counts = blocks.setdefault(number, {})
        counts[key] = counts.get(key, 0) + len(layout.stacks.get(layer, (layer,)))
    stacked = {NUMBERED.fullmatch(layer)["own"] for layer in layout.stacks}  # type: ignore[index]
    rows: dict[tuple[Key, int], list[int]] = {}
    for number, counts in blocks.items():
        for key, count in counts.items():
            rows.setdefault((key, count), []).append(number)
    return [
        {
            "name": name,
            "out_features": rows_of,
            "in_features": columns,
            "blocks": runs(rows[((name, (rows_of, columns)), count)]),
            **({"experts": count} if count > 1 else {}),
            **({"stacked": True} if name in stacked else {}),
        }
        for (name, (rows_of, columns)), count in in_order(blocks)
    ]


def in_order(blocks: Mapping[int, Mapping[Key, int]]) -> list[tuple[Key, int]]:
    """What the blocks have, such that what a block has is in that block's order: what earlier ones
    lack stands behind what it follows here."""
    order: list[tuple[Key, int]] = []
    for counts in blocks.values():
        place = 0
        for one in counts.items():
            if one in order:
                place = order.index(one) + 1
                continue
            order.insert(place, one)
            place += 1
    return order


def runs(numbers: list[int]) -> list[list[int]]:
    """(first, last) of each row of neighbours."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
