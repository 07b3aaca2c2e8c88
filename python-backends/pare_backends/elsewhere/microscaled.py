"""4-bit floats by blocks, NVFP4 and MXFP4, as compressed-tensors and Model Optimizer write them:
codes, scales and the scale of scales are the files' own.

Their bytes hold the first of two weights low, pare's table form holds it high. compressed-tensors
divides a block's scale by the matrix's, Model Optimizer multiplies them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pare_backends.checkpoint.forms import StoredTensor, TableTensor
from pare_backends.checkpoint.forms.table import BlockScales, TableFormat, format_named
from pare_backends.checkpoint.stored import Entry, StoredTensors
from pare_backends.elsewhere.given import Held, refused
from pare_backends.elsewhere.tables import (
    FLOAT8,
    NOTHING,
    float8_layers,
    octets,
    rounds_inputs,
)

BYTES = "U8"
PACKED, WEIGHT, SCALE = ".weight_packed", ".weight", ".weight_scale"
DIVISOR, FACTOR = ".weight_global_scale", ".weight_scale_2"
INPUTS = (".input_global_scale", ".input_scale")
NOTE = "Its inputs stay floats here: elsewhere they are rounded to 4-bit floats as it runs"


def has_microscaled(stored: StoredTensors) -> bool:
    """Whether weights lie as 4-bit floats with scales by blocks."""
    return any(is_packed(name, stored) for name in stored.entries)


def is_packed(name: str, stored: StoredTensors) -> bool:
    """Whether it holds a layer's codes, two a byte, with scales beside."""
    ending = next((one for one in (PACKED, WEIGHT) if name.endswith(one)), None)
    if ending is None or stored.kind(name) != BYTES:
        return False
    return f"{name.removesuffix(ending)}{SCALE}" in stored


def microscaled_layers(
    name: str, words: Mapping[str, Any], stored: StoredTensors
) -> tuple[dict[str, Held], set[str], list[str]]:
    """Layers of 4-bit floats, and those of 8-bit floats that stand beside them."""
    layers, used, notes = float8_layers(name, words, stored)
    rounded = False
    for packed in [one for one in stored.entries if is_packed(one, stored)]:
        layer = packed.removesuffix(PACKED).removesuffix(WEIGHT)
        layers[layer] = microscaled_layer(name, layer, stored.entries[packed], stored)
        beside = (SCALE, DIVISOR, FACTOR, *INPUTS)
        used.update({packed, *(f"{layer}{part}" for part in beside if f"{layer}{part}" in stored)})
        rounded = rounded or any(f"{layer}{part}" in stored for part in INPUTS)
    rounded = rounded or (has_microscaled(stored) and rounds_inputs(words))
    return layers, used, [*notes, NOTE] if rounded else notes


def microscaled_layer(name: str, layer: str, packed: Entry, stored: StoredTensors) -> Held:
    """One of them, by the type of its scales."""
    scale = stored.entries[f"{layer}{SCALE}"]
    if len(packed.shape) != 2 or len(scale.shape) != 2:
        raise refused(name, f"{layer} has codes of the shape {packed.shape}: a matrix is read")
    rows, columns = packed.shape[0], 2 * packed.shape[1]
    if scale.shape[0] != rows or scale.shape[1] < 1 or columns % scale.shape[1] != 0:
        raise refused(
            name, f"{layer} has scales of {scale.shape} for a matrix of {rows} by {columns}"
        )
    form = form_of(name, layer, scale.dtype, stored)

    def read() -> StoredTensor:
        codes = octets(packed)
        swapped = ((codes & 15) << 4) | (codes >> 4)
        scales = BlockScales(octets(scale), scale_of_scales(layer, stored))
        tensor = TableTensor(swapped, scales, form, columns // scale.shape[1], (rows, columns))
        tensor.check(layer)
        return tensor

    empty = BlockScales(NOTHING, NOTHING)
    block = columns // scale.shape[1]
    like = TableTensor(np.zeros(0, np.uint8), empty, form, block, (rows, columns))
    return Held((rows, columns), like, read)


def form_of(name: str, layer: str, scales: str, stored: StoredTensors) -> TableFormat:
    """NVFP4 where scales are 8-bit floats, MXFP4 where they are powers of two."""
    if scales == BYTES:
        return format_named("mxfp4")
    if scales == FLOAT8 and (f"{layer}{DIVISOR}" in stored or f"{layer}{FACTOR}" in stored):
        return format_named("nvfp4")
    raise refused(
        name,
        f"{layer} has 4-bit codes with scales of {scales}: NVFP4 and MXFP4 are read, whose scales"
        " are 8-bit floats beside one of the matrix, or powers of two",
    )


def scale_of_scales(layer: str, stored: StoredTensors) -> np.ndarray:
    """What the scales of a matrix are multiplied by. returns: (1,) float32; empty: nothing is"""
    if f"{layer}{FACTOR}" in stored:
        return stored[f"{layer}{FACTOR}"].astype(np.float32).reshape(-1)[:1]
    if f"{layer}{DIVISOR}" in stored:
        return np.float32(1) / stored[f"{layer}{DIVISOR}"].astype(np.float32).reshape(-1)[:1]
    return NOTHING
