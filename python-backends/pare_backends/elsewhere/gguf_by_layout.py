"""GGUF files of an architecture that pare writes, by the same tables: what each tensor of the model
is in the file, with its rows, experts and numbers where the model has them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gguf import ReaderTensor
from gguf.quants import dequantize

from pare_backends.checkpoint.forms import GgmlTensor, StoredTensor
from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.elsewhere.given import Held, refused, unread_blocks
from pare_backends.failures import CallFailure
from pare_backends.runtimes.registry import writer_of

FLOATS = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
"""Types of ggml that are plain floats."""
WORDS = ("token_embd.weight", "output.weight")
"""Tensors with a row for every word."""
HEAD = "output.weight"
BESIDE = ("rope_freqs.", "rope_factors_", "mtp.", "nextn.")
BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.")
OWN_HEAD = (
    "the file has a head of its own, and the model's is its embedding: that of the file counts as"
    " both, and in llama.cpp its head may round otherwise"
)
COMPLETE = (
    "Download or copy the file again; where it is whole, an older or newer llama.cpp divides the"
    " model otherwise"
)


def in_checkpoint() -> Any:
    """What turns the file's tensors into the checkpoint's, beside what writes such files."""
    return writer_of("gguf", "file_tensors")


@dataclass(frozen=True)
class Place:
    """Where a tensor of the model lies in the file."""

    tensor: str
    shape: tuple[int, ...]  # the model's
    parts: tuple[ReaderTensor, ...]
    expert: int  # whose matrix it is of those in each part; -1: it is all of them
    rows: int | None  # of words that the file lacks; None: it lacks none


@dataclass
class Placed:
    """The tensors of a file by the names that the original's files have for them."""

    tensors: dict[str, Held]
    notes: list[str]


def placed_by_layout(
    file: str,
    layout: Any,
    shapes: Mapping[str, tuple[int, ...]],
    found: Mapping[str, ReaderTensor],
    tied: bool,
) -> Placed:
    """The tensors of a file; `CallFailure` where it lacks one, or holds one that the model has not.

    layout: `GgufLayout` of the original; shapes: of its tensors by their names; tied: whether its
    head is its embedding
    """
    placed = Placed({}, [])
    used: set[str] = set(layout.unread())
    names = [name for name in shapes if not layout.is_left_out(name)]
    for own, several in layout.stacked(names).items():
        if tied and own == HEAD and own not in found:
            continue  # a copy of the embedding
        held_as, parts = parts_of(layout, several[0], found)
        lacking = next((one for one in held_as if one not in found), None)
        if lacking is not None:
            raise refused(file, f"it holds no tensor {lacking}", COMPLETE)
        used.update(held_as)
        tensors = tuple(found[one] for one in held_as)
        for at, tensor in enumerate(several):
            place = Place(
                *(tensor, shapes[tensor], tensors, at if layout.is_one_of_several(tensor) else -1),
                missing_words(own, shapes[tensor], tensors),
            )
            if not fits(layout, place):
                raise misshapen(file, place)
            held, note = held_at(file, layout, place, parts)
            placed.tensors[tensor if held.like is None else tensor.removesuffix(".weight")] = held
            if note is not None and note not in placed.notes:
                placed.notes.append(note)
    if tied and HEAD in found and HEAD not in used:
        placed.notes.append(OWN_HEAD)
    extra = [one for one in found if one not in used and not is_beyond(layout, one, tied)]
    if extra:
        raise refused(file, f"it holds {extra[0]}, which the model has not")
    return placed


def parts_of(layout: Any, tensor: str, found: Mapping[str, ReaderTensor]) -> tuple[list[str], Any]:
    """(the names of a tensor's parts, how a matrix of latent keys and values is held where the file
    has it half turned and the table whole)"""
    names = layout.names(tensor)
    latent = layout.latent_parts(tensor)
    if latent is None or names[0] in found:
        return names, None
    stem = tensor.removesuffix("kv_b_proj.weight")
    return [layout.name(stem + one) for one in latent.names], latent


def is_beyond(layout: Any, name: str, tied: bool) -> bool:
    """Whether a tensor of the file is none of the model's that computes a token: factors of the
    rotation, which keys are compared with, layers that guess a further token, a head beside a
    tied embedding."""
    block = BLOCK.match(name)
    behind = block is not None and (int(block[1]) >= layout.layers or block[2] == "nextn")
    return behind or name.startswith(BESIDE) or (tied and name == HEAD)


def missing_words(own: str, shape: tuple[int, ...], tensors: Sequence[ReaderTensor]) -> int | None:
    """Rows of words that the file leaves out, as no text has them; None: it has all."""
    rows = int(tensors[0].shape[-1])
    return shape[0] - rows if own in WORDS and len(shape) == 2 and rows < shape[0] else None


def fits(layout: Any, place: Place) -> bool:
    """Whether the file's tensors are as many numbers as the model's, in as many columns."""
    shape, shares = place.shape, [int(one.n_elements) for one in place.parts]
    experts = int(place.parts[0].shape[-1]) if place.expert >= 0 else 1
    columns = shape[-2] if layout.is_turned(place.tensor) else shape[-1] if shape else 1
    more = layout.added(place.tensor, shape[0]) - (place.rows or 0) if shape else 0
    plain = (
        len(shape) > 1
        and in_checkpoint().keeps_blocks(layout, place.tensor, shape)
        and len(shares) == 1
    )
    whole = math.prod(shape) + more * (math.prod(shape[1:]) if shape else 0)
    return sum(shares) == whole * experts and (not plain or int(place.parts[0].shape[0]) == columns)


def held_at(file: str, layout: Any, place: Place, latent: Any) -> tuple[Held, str | None]:
    """(one tensor unread, what a user must know of it); raises `CallFailure` for blocks that are
    not read here."""
    kinds = {one.tensor_type.name for one in place.parts}
    odd = next((kind for kind in kinds if kind not in FLOATS and kind not in BLOCK_KINDS), None)
    if odd is not None:
        raise refused(
            file, f"the blocks of {place.parts[0].name} are {odd}, which are not read here"
        )
    kind = next(iter(kinds))
    packed = kinds - FLOATS.keys()
    keeps = latent is None and in_checkpoint().keeps_blocks(layout, place.tensor, place.shape)
    if packed and len(kinds) == 1 and keeps:
        like = unread(kind, place.shape, layout.is_turned(place.tensor))
        return Held(place.shape, like, blocks_reader(file, layout, place, kind)), words_note(place)
    note = words_note(place)
    if packed:
        if len(place.shape) == 3:
            raise refused(
                file,
                f"it holds {place.parts[0].name} as {' and '.join(sorted(kinds))}, and tensors such"
                f" as {place.tensor}, which have all experts of a layer, are kept as floats alone",
                "Take a file of floats",
            )
        note = (
            f"{place.tensor.split('.')[-2]} counts as floats: the file holds it half turned, or in"
            " several kinds of blocks"
        )
    return Held(place.shape, None, floats_reader(file, layout, place, latent)), note


def words_note(place: Place) -> str | None:
    if place.rows is None:
        return None
    return (
        f"the file has no row for {place.rows} of the model's {place.shape[0]} words: they count"
        " as zeros, as no text has them"
    )


def unread(kind: str, shape: tuple[int, ...], turned: bool) -> GgmlTensor:
    """Blocks of a shape without their bytes."""
    if len(shape) == 3:
        held = unread_blocks(kind, shape[0] * shape[1], shape[2])
        return GgmlTensor(held.blocks, kind, shape[2], False, shape[0])
    rows, columns = shape[::-1] if turned else shape
    held = unread_blocks(kind, rows, columns)
    return GgmlTensor(held.blocks, kind, columns, turned) if turned else held


def raw_parts(place: Place) -> list[np.ndarray]:
    """What the file holds of a tensor, bytes of blocks or floats as they are stored."""
    held = [np.asarray(one.data) for one in place.parts]
    if place.expert >= 0:
        held = [one[place.expert] for one in held]
    if place.rows is not None:
        held = [np.pad(one, ((0, place.rows), (0, 0))) for one in held]
    return held


def blocks_reader(file: str, layout: Any, place: Place, kind: str) -> Callable[[], StoredTensor]:
    """Reads blocks with their rows in the model's order."""

    def read() -> StoredTensor:
        try:
            return in_checkpoint().blocks_of(
                layout, place.tensor, kind, place.shape, raw_parts(place)
            )
        except (ValueError, IndexError) as error:
            raise misshapen(file, place) from error

    return read


def floats_reader(file: str, layout: Any, place: Place, latent: Any) -> Callable[[], np.ndarray]:
    """Reads a tensor as floats, in the model's order."""

    def read() -> np.ndarray:
        pairs = zip(raw_parts(place), place.parts, strict=True)
        parts = [np.asarray(dequantize(one, of.tensor_type), np.float32) for one, of in pairs]
        try:
            parts = [latent.joined(parts, 0)] if latent is not None else parts
            return in_checkpoint().floats_of(layout, place.tensor, place.shape, parts)
        except (ValueError, IndexError) as error:
            raise misshapen(file, place) from error

    return read


def misshapen(file: str, place: Place) -> CallFailure:
    shapes = [" by ".join(str(int(side)) for side in reversed(one.shape)) for one in place.parts]
    wanted = " by ".join(str(side) for side in place.shape)
    return refused(
        file,
        f"{place.parts[0].name} is {', '.join(shapes)} in it, and {place.tensor} {wanted} in the"
        " model",
    )
