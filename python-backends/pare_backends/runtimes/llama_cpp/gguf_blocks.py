"""An artifact's own integers as GGUF's blocks of 32 weights, and back: numpy alone.

A block has one float16 scale; a group of 32·n weights or a whole row repeats its scale in each of
its blocks. Letters: o rows, i columns, b blocks a row.

- Q4_0: weight = d · (q − 8), q from 0 to 15: symmetric integers of up to 4 bits.
- Q4_1: weight = d · q + m: integers of up to 4 bits with a zero point z, m = −z · d.
- Q8_0: weight = d · q, q from −128 to 127: symmetric integers of 8 bits.

The integers are held exactly. A scale is rounded to float16 where the artifact has it wider, and m
always: it is a product. So is a scale of rows that are multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.failures import CallFailure
from pare_backends.runtimes.stored_weights import PackedWeight

BLOCK = 32
KINDS = {"i4": "Q4_0", "u4": "Q4_1", "i8": "Q8_0"}
HALF_BYTES = 2


@dataclass(frozen=True)
class Blocks:
    """A matrix in one of GGUF's block formats."""

    kind: str  # Q4_0, Q4_1 or Q8_0; of `multiplied` any
    data: np.ndarray  # (o, bytes of a row) uint8
    scale_error: float  # largest relative change of a scale or offset by its rounding to float16


def to_blocks(name: str, weight: PackedWeight) -> Blocks:
    """The blocks of a packed weight; `CallFailure` says why GGUF has none for it."""
    kind = KINDS.get(weight.element)
    if kind is None:
        raise _no_block(
            name, "8-bit integers with a zero point have no block that it computes with"
        )
    width = weight.columns // weight.groups
    if width % BLOCK != 0:
        raise _no_block(name, f"{BLOCK} weights share a scale there, {width} in the artifact")
    scales = np.repeat(weight.scales, width // BLOCK, axis=1)  # (o, b)
    parts = [_half(name, scales)]
    exact = [scales]
    integers = weight.integers()
    if weight.zero_points is not None:
        zeros = np.repeat(weight.zero_points, width // BLOCK, axis=1).astype(np.float32)
        exact.append(-zeros * scales)
        parts.append(_half(name, exact[1]))
    error = max(_relative_error(*pair) for pair in zip(parts, exact, strict=True))
    grouped = integers.reshape(weight.rows, -1, BLOCK)  # (o, b, 32)
    if kind == "Q8_0":
        elements = grouped.astype(np.int8).view(np.uint8)
    else:
        raised = (grouped + (8 if kind == "Q4_0" else 0)).astype(np.uint8)
        # Byte n of a block: weight n in its low half, weight n + 16 in its high half.
        elements = raised[:, :, : BLOCK // 2] | (raised[:, :, BLOCK // 2 :] << np.uint8(4))
    heads = [np.ascontiguousarray(part[:, :, None]).view(np.uint8) for part in parts]
    blocks = np.concatenate([*heads, elements], axis=2)
    return Blocks(kind, np.ascontiguousarray(blocks.reshape(weight.rows, -1)), error)


def in_columns(name: str, kind: str, data: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    """The blocks of a matrix whose columns stand in another order, block by block.

    kind: one of ggml's; data: (o, bytes of a row) uint8; order: (i,), None: as they are
    raises: CallFailure where a block holds columns that come apart
    """
    if order is None:
        return data
    block = BLOCK_KINDS[kind]
    wholes = order.reshape(-1, block.weights) if len(order) % block.weights == 0 else order[:, None]
    first = wholes[:, 0] // block.weights
    if not np.array_equal(wholes, first[:, None] * block.weights + np.arange(wholes.shape[1])):
        raise _no_block(
            name, f"its columns have another order there, which tears blocks of {block.weights}"
        )
    by_block = data.reshape(len(data), -1, block.octets)
    return np.ascontiguousarray(by_block[:, first].reshape(len(data), -1))


HALVES = {
    **dict.fromkeys(("Q4_0", "Q5_0", "Q8_0", "IQ4_NL", "IQ4_XS"), (0,)),
    **dict.fromkeys(("IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"), (0,)),
    **dict.fromkeys(("Q4_1", "Q5_1", "Q4_K", "Q5_K"), (0, 2)),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q6_K": (208,),
    "TQ1_0": (52,),
    "TQ2_0": (64,),
}
"""Where a block has its float16 scale and, of some, its offset or what scales the offsets."""


def multiplied(name: str, kind: str, data: np.ndarray, factor: np.ndarray | float) -> Blocks:
    """The blocks of a matrix whose rows are multiplied: of each block what scales all of it.

    kind: one of ggml's; data: (o, bytes of a row) uint8; factor: a number or one each, (o,)
    """
    if np.all(factor == 1):
        return Blocks(kind, data, 0.0)
    if kind not in HALVES:
        raise _no_block(name, f"its rows are multiplied, and {kind} has no scale of float16")
    made = data.reshape(len(data), -1, BLOCK_KINDS[kind].octets).copy()
    error = 0.0
    for at in HALVES[kind]:
        own = np.ascontiguousarray(made[:, :, at : at + HALF_BYTES]).view(np.float16)[:, :, 0]
        exact = (own.astype(np.float32).T * factor).T
        rounded = _half(name, exact)
        error = max(error, _relative_error(rounded, exact))
        made[:, :, at : at + HALF_BYTES] = np.ascontiguousarray(rounded[:, :, None]).view(np.uint8)
    return Blocks(kind, made.reshape(data.shape), error)


def from_blocks(kind: str, data: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """What stands in the blocks, as a file is read back.

    data: (o, bytes of a row) uint8
    returns: integers (o, i) int16 (Q4_0 centred on zero), scales (o, b) float32, and the offsets m
    (o, b) float32 of Q4_1, else None
    """
    halves = 2 if kind == "Q4_1" else 1
    octets = BLOCK if kind == "Q8_0" else BLOCK // 2
    rows = len(data)
    blocks = data.reshape(rows, -1, halves * HALF_BYTES + octets)
    heads = np.ascontiguousarray(blocks[:, :, : halves * HALF_BYTES]).view(np.float16)
    elements = blocks[:, :, halves * HALF_BYTES :]
    if kind == "Q8_0":
        integers = np.ascontiguousarray(elements).view(np.int8).astype(np.int16)
    else:
        low, high = elements & np.uint8(15), elements >> np.uint8(4)
        integers = np.concatenate([low, high], axis=2).astype(np.int16)
        integers -= 8 if kind == "Q4_0" else 0
    scales = heads.astype(np.float32)
    offsets = scales[:, :, 1] if kind == "Q4_1" else None
    return integers.reshape(rows, -1), scales[:, :, 0], offsets


def _half(name: str, values: np.ndarray) -> np.ndarray:
    """values: (o, b) float32; returns: the same as float16"""
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    lost = ~np.isfinite(halves) | ((halves == 0) & (values != 0))
    if lost.any():
        value = float(values[lost][0])
        raise _no_block(name, f"a block's scale is float16, which cannot hold {value:g}")
    return halves


def _relative_error(rounded: np.ndarray, exact: np.ndarray) -> float:
    wide = rounded.astype(np.float32)
    scale = np.where(exact == 0, 1, np.abs(exact))
    return float((np.abs(wide - exact) / scale).max(initial=0))


def _no_block(name: str, why: str) -> CallFailure:
    return CallFailure(
        "invalid",
        f"Cannot hold {name} in a GGUF file: {why}",
        "measure it in another runtime, or take groups of 32 or 64 with 2 to 4 bits, or 8 "
        "symmetric bits",
    )
