"""Packed integers of GPTQ, AWQ, AutoRound and compressed-tensors as pare's own grid: integers, zero
points and scales are the files' own, nothing is rounded again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pare_backends.checkpoint.forms import GridTensor, OrderedTensor, StoredTensor
from pare_backends.checkpoint.forms.grid import SCALE_TYPES
from pare_backends.checkpoint.forms.grid_config import declared_bits, input_rounding
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.conversion.files_format import Decoded, FilesFormat, Grid
from pare_backends.conversion.formats import FORMATS
from pare_backends.elsewhere.given import Held, refused, unread_grid
from pare_backends.failures import CallFailure

WORD_BITS = 32
AWQ_PACKED = "awq"
AUTO_AWQ = {"w_bit": "bits", "q_group_size": "group_size"}
"""What AutoAWQ's own file calls what config.json calls otherwise."""
PARTS = (".qweight", ".qzeros", ".scales", ".g_idx")
BITS = (2, 3, 4, 8)


def integer_layers(
    name: str, method: str, words: dict[str, Any], stored: StoredTensors
) -> tuple[dict[str, Held], set[str], list[str]]:
    """Layers of GPTQ's, AWQ's or AutoRound's words; raises `CallFailure` where the configuration
    claims what the tensors do not bear out.

    words: of the quantization's configuration
    """
    old = {new: words[old] for old, new in AUTO_AWQ.items() if old in words}
    config = {"sym": True, "zero_point": True, "group_size": 128, **old, **words}
    awq = method == "awq" or str(words.get("packing_format", "")).endswith(AWQ_PACKED)
    if awq and str(words.get("version", "gemm")).lower() not in ("gemm", "none"):
        raise refused(name, f"its words are AWQ's version {words['version']}: gemm is read")
    form = FORMATS["awq" if awq else method]
    layers: dict[str, Held] = {}
    used: set[str] = set()
    for weight in [one for one in stored.entries if one.endswith(".qweight")]:
        layer = weight.removesuffix(".qweight")
        parts = [f"{layer}{part}" for part in PARTS if f"{layer}{part}" in stored]
        used.update(parts)
        layers[layer] = integer_layer(name, layer, form, config, stored, awq)
    return layers, used, []


def integer_layer(
    name: str,
    layer: str,
    form: FilesFormat,
    config: Mapping[str, Any],
    stored: StoredTensors,
    awq: bool,
) -> Held:
    """One of them, by the shapes of its parts."""
    try:
        claimed = form.claimed(config, layer)
        high, wide = stored.shape(f"{layer}.qweight")
        groups, rows = stored.shape(f"{layer}.scales")
    except (KeyError, TypeError, ValueError, OverflowError, re.error) as error:
        raise refused(name, f"{layer} lacks {error} in its files or its configuration") from error
    if claimed.bits not in BITS:
        raise refused(name, f"{layer} has {claimed.bits} bits by its configuration")
    if claimed.group_size < 1 and claimed.group_size != -1:
        raise refused(name, f"{layer} has groups of {claimed.group_size} by its configuration")
    columns = high if awq else high * WORD_BITS // claimed.bits
    words = rows * claimed.bits // WORD_BITS
    size = columns if claimed.group_size == -1 else claimed.group_size
    if (awq and wide != words) or (not awq and wide != rows) or groups != -(-columns // size):
        raise refused(
            name,
            f"its configuration claims {claimed.bits} bits in groups of {claimed.group_size}, and"
            f" {layer} has words of {high} by {wide} with scales of {groups} by {rows}",
        )
    like = unread_grid(claimed.bits, rows, columns, groups, claimed.symmetric and not awq)
    order = other_order(name, layer, f"{layer}.g_idx", stored, columns, groups)
    read = integers_reader(name, layer, form, claimed, config, stored)
    return in_order(name, layer, Held((rows, columns), like, read), order)


def integers_reader(
    name: str,
    layer: str,
    form: FilesFormat,
    claimed: Grid,
    config: Mapping[str, Any],
    stored: StoredTensors,
) -> Callable[[], GridTensor]:
    """Unpacks a layer, its columns as the model has them."""

    def read() -> GridTensor:
        try:
            return grid_tensor(form.unpacked(stored, layer, claimed, config), claimed)
        except CallFailure as failure:
            raise refused(name, f"{layer}: {failure.message}") from failure

    return read


def other_order(
    name: str, layer: str, tensor: str, stored: StoredTensors, columns: int, groups: int
) -> np.ndarray | None:
    """The group of each column; None where they stand in the order of their groups."""
    if tensor not in stored:
        return None
    order = stored[tensor].reshape(-1)
    if len(order) != columns or (order < 0).any() or (order >= groups).any():
        raise refused(
            name,
            f"{tensor} names the groups of {len(order)} columns, and {layer} has {columns} in"
            f" {groups} groups",
        )
    if np.array_equal(order, np.arange(columns) // (columns // groups)):
        return None
    if (np.bincount(order, minlength=groups) != columns // groups).any():
        raise refused(name, f"{layer} has groups of different sizes by its {tensor}")
    return order.astype(np.int32)


def in_order(name: str, layer: str, held: Held, order: np.ndarray | None) -> Held:
    """The layer with the order of its columns."""
    if order is None or not isinstance(held.like, GridTensor):
        return held
    if held.like.activation_bits is not None:
        raise refused(name, f"{layer} rounds its inputs, and its columns stand in another order")

    def read() -> StoredTensor:
        grid = held.read()
        assert isinstance(grid, GridTensor)
        return OrderedTensor.of(grid, order)

    return Held(held.shape, OrderedTensor(held.like, order), read)


def grid_tensor(decoded: Decoded, claimed: Grid) -> GridTensor:
    """What files hold from 0 on, around zero as pare has it. Zero points of GPTQ's first version
    wrap around, as its kernels let them."""
    middle = 1 << (claimed.bits - 1)
    zeros = (decoded.zeros % (1 << claimed.bits)) - middle
    groups = decoded.scales.shape[1]
    return GridTensor(
        (decoded.ints - middle).astype(np.int8),
        np.ascontiguousarray(decoded.scales, dtype=np.float32),
        None if not zeros.any() else np.ascontiguousarray(zeros).astype(np.int8),
        claimed.bits,
        -1 if groups == 1 else decoded.ints.shape[1] // groups,
    )


def compressed_layers(
    name: str, stored: StoredTensors, config: Mapping[str, Any]
) -> tuple[dict[str, Held], set[str]]:
    """Layers of compressed-tensors' integers, packed or one a byte."""
    layers: dict[str, Held] = {}
    used: set[str] = set()
    for layer in GridTensor.layers(stored.entries):
        order = f"{layer}.weight_g_idx"
        held = compressed_layer(layer, stored, config)
        columns, scales = held.shape[1], stored.shape(f"{layer}.weight_scale")
        groups = scales[1] if len(scales) > 1 else 1
        found = other_order(name, layer, order, stored, columns, groups)
        layers[layer] = in_order(name, layer, held, found)
        used.update(f"{layer}{part}" for part in (*GridTensor.PARTS, ".weight_g_idx"))
    return layers, used


def compressed_layer(layer: str, stored: StoredTensors, config: Mapping[str, Any]) -> Held:
    """One of them, by its header."""
    scales = stored.shape(f"{layer}.weight_scale")
    groups = scales[1] if len(scales) > 1 else 1
    bits, symmetric = 8, True
    if f"{layer}.weight_packed" in stored:
        rows, columns = (int(side) for side in stored[f"{layer}.weight_shape"])
        words = stored.shape(f"{layer}.weight_packed")[1]
        bits = declared_bits(config, layer, words, columns)
        symmetric = f"{layer}.weight_zero_point" not in stored
    else:
        rows, columns = stored.shape(f"{layer}.weight")
    inputs = input_rounding(config, layer) or (None, -1)
    like = unread_grid(
        *(bits, rows, columns, groups, symmetric),
        activation_bits=inputs[0],
        activation_group_size=inputs[1],
        scales_as=SCALE_TYPES.get(stored.kind(f"{layer}.weight_scale") or ""),
    )
    return Held((rows, columns), like, lambda: GridTensor.read(stored, layer, config))
