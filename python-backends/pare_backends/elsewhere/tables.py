"""Codes into tables of numbers as pare's own table form: bitsandbytes' four bits, 8-bit floats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pare_backends.checkpoint.forms import GridTensor, StoredTensor, TableTensor
from pare_backends.checkpoint.forms.number_tables import table
from pare_backends.checkpoint.forms.table import SCALE_BLOCK, BlockScales, format_named
from pare_backends.checkpoint.stored import Entry, StoredTensors
from pare_backends.conversion.bitsandbytes import STATE, four_bits_of, state_of
from pare_backends.elsewhere.given import Held, refused, unread_grid

EIGHT_BIT_RANGE = 127
FLOAT8 = "F8_E4M3"
ENDS = (".weight_scale_inv", ".weight_scale")
INPUT_SCALES = (".input_scale", ".activation_scale")
"""Of a layer's inputs: llm-compressor's name, and transformers' (Ministral 3's files have it)."""
NOTHING = np.zeros(0, np.float32)


def four_bit_layers(
    name: str, stored: StoredTensors
) -> tuple[dict[str, Held], set[str], list[str]]:
    """bitsandbytes' layers: NF4 and FP4, and its 8-bit integers with a scale a row."""
    layers: dict[str, Held] = {}
    used: set[str] = set()
    notes: list[str] = []
    for state in [one for one in stored.entries if STATE in one]:
        layer = state.split(STATE)[0]
        layers[layer] = four_bit_layer(name, layer, stored)
        used.update(one for one in stored.entries if one.startswith(f"{layer}.weight"))
    for scale in [one for one in stored.entries if one.endswith(".SCB")]:
        layer = scale.removesuffix(".SCB")
        layers[layer] = eight_bit_layer(layer, stored)
        beside = (".SCB", ".weight", ".weight_format")
        used.update(one for end in beside if (one := f"{layer}{end}") in stored)
        notes = ["Its inputs stay floats here: bitsandbytes rounds all but outliers to 8 bits"]
    return layers, used, notes


def four_bit_layer(name: str, layer: str, stored: StoredTensors) -> Held:
    """A layer of NF4 or FP4."""
    state = state_of(stored, layer)
    kind, double = str(state["quant_type"]), "nested_offset" in state
    block, matrix = int(state["blocksize"]), (int(state["shape"][0]), int(state["shape"][1]))
    if kind not in ("nf4", "fp4") or (double and state["nested_blocksize"] != SCALE_BLOCK):
        raise refused(name, f"{layer} is bitsandbytes' {kind}, whose scales are not read here")
    form = format_named(f"{kind}_double" if double else kind)

    def read() -> StoredTensor:
        codes, scales, numbers, nested = four_bits_of(stored, layer, state)
        own = np.array_equal(numbers, table(kind).values)
        if not own or (nested is not None and not np.array_equal(nested, table("dynamic").values)):
            raise refused(name, f"{layer} has a table of numbers of its own")
        return TableTensor(codes, scales, form, block, matrix)

    like = TableTensor(np.zeros(0, np.uint8), BlockScales(NOTHING, NOTHING), form, block, matrix)
    return Held(matrix, like, read)


def eight_bit_layer(layer: str, stored: StoredTensors) -> Held:
    """A layer of 8-bit integers: a row's largest weight is 127."""
    rows, columns = stored.shape(f"{layer}.weight")

    def read() -> StoredTensor:
        scales = stored[f"{layer}.SCB"].astype(np.float32)[:, None] / EIGHT_BIT_RANGE
        return GridTensor(stored[f"{layer}.weight"], scales, None, 8, -1, scales_as="float32")

    like = unread_grid(8, rows, columns, 1, True, scales_as="float32")
    return Held((rows, columns), like, read)


def float8_layers(
    name: str, words: Mapping[str, Any], stored: StoredTensors
) -> tuple[dict[str, Held], set[str], list[str]]:
    """Layers of 8-bit floats (E4M3) with a scale a matrix, a row, or a block of both sides."""
    layers: dict[str, Held] = {}
    used: set[str] = set()
    rounds = False
    for weight, entry in stored.entries.items():
        if entry.dtype != FLOAT8 or not weight.endswith(".weight"):
            continue
        layer = weight.removesuffix(".weight")
        end = next((one for one in ENDS if f"{layer}{one}" in stored), None)
        if end is None or len(entry.shape) != 2:
            raise refused(name, f"{layer} is of 8-bit floats without a scale")
        layers[layer] = float8_layer(name, layer, end, stored)
        inputs = {f"{layer}{one}" for one in INPUT_SCALES} & set(stored)
        used.update({weight, f"{layer}{end}"} | inputs)
        rounds = rounds or end == ENDS[0] or bool(inputs)
    rounds = rounds or (bool(layers) and rounds_inputs(words))
    note = "Its inputs stay floats here: elsewhere they are rounded to 8-bit floats as it runs"
    return layers, used, [note] if rounds else []


def rounds_inputs(words: Mapping[str, Any]) -> bool:
    """Whether a configuration of compressed-tensors says that inputs are rounded."""
    groups = (words.get("config_groups") or {}).values()
    return any(one.get("input_activations") for one in groups)


def octets(entry: Entry) -> np.ndarray:
    """A tensor's bytes."""
    return np.fromfile(entry.path, np.uint8, entry.end - entry.start, offset=entry.start)


def float8_layer(name: str, layer: str, end: str, stored: StoredTensors) -> Held:
    """One of them: a scale of a block of rows is repeated for each row of it."""
    entry = stored.entries[f"{layer}.weight"]
    rows, columns = entry.shape
    shape = (*stored.shape(f"{layer}{end}"), 1, 1)[:2]
    high, wide = (-(-rows // shape[0]), -(-columns // shape[1]))
    if columns % shape[1] != 0:
        raise refused(name, f"{layer} has {shape[1]} scales for a row of {columns} weights")
    whole = shape == (1, 1)
    block = rows * columns if whole else wide

    def read() -> StoredTensor:
        codes = octets(entry)
        scales = stored[f"{layer}{end}"].astype(np.float32).reshape(shape)
        each = scales.reshape(-1) if whole else np.repeat(scales, high, axis=0)[:rows].reshape(-1)
        return TableTensor(codes, BlockScales(each, NOTHING), form, block, (rows, columns))

    form = format_named("fp8_e4m3")
    empty = BlockScales(NOTHING, NOTHING)
    like = TableTensor(np.zeros(0, np.uint8), empty, form, block, (rows, columns))
    return Held((rows, columns), like, read)
