"""The decoder's blocks: which tensors of the files are whose, by the number in their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pare_backends.models.layout import Layout

NUMBERED = re.compile(r"(?P<prefix>.*?)(?P<number>\d+)\.(?P<own>.+)")
"""`model.layers.7.mlp.experts.3.w1`: the first number is the block's."""


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
