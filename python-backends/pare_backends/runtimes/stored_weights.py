"""A trial's own weights as a runtime takes them, read from the artifact one at a time.

Packed integers are handed on in their packed bytes: a nibble's place is the same in
compressed-tensors' words and in OpenVINO's constants, so nothing is unpacked and the peak memory
of the process stays the runtime's own. Letters: o rows, i columns, g groups a row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.adapter import read_adapter
from pare_backends.checkpoint.files import tensor_entries, weight_files
from pare_backends.checkpoint.forms import (
    GgmlTensor,
    GridTensor,
    forms_by_layer,
    weight_name,
)
from pare_backends.checkpoint.forms.floats import half
from pare_backends.checkpoint.forms.grid_config import declared_bits, input_rounding
from pare_backends.checkpoint.forms.packing import unpack
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

ELEMENT_BITS = {"i4": 4, "u4": 4, "i8": 8, "u8": 8}


@dataclass(frozen=True)
class PackedWeight:
    """weight = (elements − zero_points) · scales; elements lie lowest bits first."""

    element: str  # i4, u4, i8, u8
    data: np.ndarray  # (o · i · bits / 8,) uint8
    rows: int
    columns: int
    scales: np.ndarray  # (o, g) float32
    zero_points: np.ndarray | None  # (o, g) uint8 in the range of the elements; None = 0
    bits: int  # of the artifact; an element may be wider

    @property
    def groups(self) -> int:
        return int(self.scales.shape[1])

    @property
    def bytes_read(self) -> int:
        """Bytes of elements, scales (float32 in the graph) and zero points."""
        zeros = 0 if self.zero_points is None else self.zero_points.size
        return int(self.data.nbytes + self.scales.size * 4 + zeros)

    def integers(self) -> np.ndarray:
        """The elements one by one, signed where the element is. returns: (o, i) int16"""
        bits = ELEMENT_BITS[self.element]
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        values = (self.data[:, None] >> shifts) & np.uint8((1 << bits) - 1)
        numbers = values.reshape(-1)[: self.rows * self.columns].astype(np.int16)
        if self.element.startswith("i"):
            numbers -= (numbers >= 1 << (bits - 1)).astype(np.int16) << bits
        return numbers.reshape(self.rows, self.columns)

    def dequantize(self) -> np.ndarray:
        """The weights that the graph computes with. returns: (o, i) float32"""
        numbers = self.integers().reshape(self.rows, self.groups, -1).astype(np.float32)
        if self.zero_points is not None:
            numbers -= self.zero_points[:, :, None].astype(np.float32)
        return (numbers * self.scales[:, :, None]).reshape(self.rows, self.columns)


class StoredWeights:
    """The tensors of an artifact by the names of its checkpoint; nothing is kept once given."""

    def __init__(self, artifact_dir: str) -> None:
        root = Path(artifact_dir)
        paths = weight_files(root)
        if not paths or not (root / "config.json").exists():
            raise CallFailure(
                "bad_input", f"Cannot read {root}: it has no config.json with safetensors files"
            )
        self.config: dict[str, Any] = json.loads((root / "config.json").read_text())
        self._stored = StoredTensors(tensor_entries(paths))
        self._forms = forms_by_layer(self._stored.entries)
        self._adapter = read_adapter(root)

    def names(self) -> list[str]:
        """Every weight and other tensor, each once whatever parts it is stored in."""
        return sorted({weight_name(name) for name in self._stored})

    def is_packed(self, tensor: str) -> bool:
        """Whether a weight, such as lm_head.weight, runs as integers with scales: it is stored so,
        and no adapter adds floats to it."""
        stored = self._forms.get(tensor.removesuffix(".weight")) is GridTensor
        return stored and self._adapted(tensor) is None

    def blocks(self, tensor: str) -> GgmlTensor | None:
        """A weight that is stored as llama.cpp's blocks, with no adapter on it; None: it is not."""
        layer = tensor.removesuffix(".weight")
        if self._forms.get(layer) is not GgmlTensor or self._adapted(tensor) is not None:
            return None
        return GgmlTensor.read(self._stored, layer, self.config)

    def has(self, tensor: str) -> bool:
        return tensor in self._stored or tensor.removesuffix(".weight") in self._forms

    def floats(self, tensor: str) -> np.ndarray:
        """A tensor that does not run packed: plain floats in their stored type, bf16 as float32;
        another stored form decoded to what plain floats would be, integers and blocks exactly."""
        layer = tensor.removesuffix(".weight")
        form = self._forms.get(layer)
        if form is None:
            return self._stored[tensor]
        weight: np.ndarray = form.read(self._stored, layer, self.config).weight()
        return weight if form in (GridTensor, GgmlTensor) else half(weight)

    def added(self, tensor: str) -> np.ndarray | None:
        """What an adapter beside the weights adds to one: (out, in) float32, also where the file
        holds it as (in, out); None where none does."""
        module = self._adapted(tensor)
        return None if module is None or self._adapter is None else self._adapter.delta(module)

    def _adapted(self, tensor: str) -> str | None:
        """The module of a weight, by its name in the adapter; None where it adds nothing to it."""
        layer = tensor.removesuffix(".weight")
        # The files of a base model leave out the prefix that its modules have.
        return next(
            (
                module
                for module in (() if self._adapter is None else self._adapter.modules())
                if module == layer or module.endswith(f".{layer}")
            ),
            None,
        )

    def input_group(self, tensor: str) -> int | None:
        """Columns of a weight's input that share a scale, -1 = the whole row; None where the
        artifact declares no quantization of it."""
        declared = input_rounding(self.config, tensor.removesuffix(".weight"))
        return None if declared is None else declared[1]

    def packed(self, tensor: str) -> PackedWeight:
        """A quantized weight in the form of a runtime's constant."""
        scales = self._stored[f"{tensor}_scale"].astype(np.float32)
        if f"{tensor}_packed" not in self._stored:
            ints = self._stored[tensor]
            rows, columns = (int(n) for n in ints.shape)
            data = np.ascontiguousarray(ints).view(np.uint8).reshape(-1)
            return PackedWeight("i8", data, rows, columns, scales, None, 8)
        words = self._stored[f"{tensor}_packed"]
        rows, columns = (int(n) for n in self._stored[f"{tensor}_shape"])
        layer = tensor.removesuffix(".weight")
        bits = declared_bits(self.config, layer, words.shape[1], columns)
        zeros = self._zero_points(tensor, bits, rows)
        if bits in (4, 8) and columns * bits % 32 == 0:
            octets = np.ascontiguousarray(words).view(np.uint8).reshape(-1)
            # Stored integers are raised by 2^(bits−1); symmetric ones turn signed: faster.
            flip = np.uint8(0 if zeros is not None else 0x88 if bits == 4 else 0x80)
            element = f"{'i' if zeros is None else 'u'}{bits}"
            return PackedWeight(element, octets ^ flip, rows, columns, scales, zeros, bits)
        # Rows that end in the middle of a word, and widths that run in four bits: OpenVINO has
        # no 3-bit type; its 2-bit type is slower than i4 (9.1 against 7.8 ms per token) and does
        # not run in bf16.
        wide = 4 if bits <= 4 else 8
        ints = unpack(words, bits, columns)
        if zeros is None:
            return PackedWeight(
                f"i{wide}", _pack_rows(ints, wide), rows, columns, scales, None, bits
            )
        raised = ints.astype(np.int16) + (1 << (bits - 1))
        data = _pack_rows(raised.astype(np.uint8), wide)
        return PackedWeight(f"u{wide}", data, rows, columns, scales, zeros, bits)

    def _zero_points(self, tensor: str, bits: int, rows: int) -> np.ndarray | None:
        """(o, g) uint8, raised by 2^(bits−1) as the stored integers are; None where symmetric."""
        name = f"{tensor}_zero_point"
        if name not in self._stored:
            return None
        by_group = np.ascontiguousarray(self._stored[name].T)
        raised = unpack(by_group, bits, rows).T.astype(np.int16) + (1 << (bits - 1))
        return np.ascontiguousarray(raised.astype(np.uint8))


def _pack_rows(values: np.ndarray, bits: int) -> np.ndarray:
    """values: (o, i) int8 or uint8; returns: (ceil(o · i · bits / 8),) uint8"""
    flat = values.reshape(-1).view(np.uint8)
    if bits == 8:
        return flat
    low = flat & np.uint8(15)
    if low.size % 2:
        low = np.append(low, np.uint8(0))
    return low[0::2] | (low[1::2] << np.uint8(4))
