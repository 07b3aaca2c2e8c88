"""Layers that are rounded already, a file for each in each format, named by what they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pare_backends.checkpoint import GridTensor, weight_files
from pare_backends.checkpoint.forms.packing import unpack
from pare_backends.models.whole_file import save_whole
from pare_backends.quantization.mixing.formats import Format

if TYPE_CHECKING:
    import torch

VERSION = 1
"""Of the arithmetic: raised whenever the same layer would be rounded otherwise."""
CHUNK = 1 << 22
PARTS = (".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_shape")


@dataclass(frozen=True)
class LayerStore:
    """The kept layers of a model, calibrated on the same text. Safe for several processes: a file
    is whole or not there, and its name tells what is in it."""

    folder: Path
    source: str  # what every layer's inputs depend on: `source_of`

    def path(self, layer: str, one: Format) -> Path:
        """Where a layer in a format lies, once it is made."""
        whole = json.dumps([VERSION, self.source, layer, one.name])
        return self.folder / f"{hashlib.sha256(whole.encode()).hexdigest()}.safetensors"

    def has(self, layer: str, one: Format) -> bool:
        return self.path(layer, one).exists()

    def keep(self, layer: str, one: Format, tensor: GridTensor, error: float) -> None:
        """Writes a layer; all or nothing. error: tr(ΔW H ΔWᵀ) / tr(W H Wᵀ)"""
        import torch

        parts = replace(tensor, transposed=False).parts()
        save_whole(
            self.path(layer, one),
            {name: torch.from_numpy(np.ascontiguousarray(part)) for name, part in parts.items()},
            f"keep {layer} as {one.name}",
            "Free some space: what is kept already is found again",
            # One entry: the file's library writes several in any order.
            {"kept": json.dumps({"layer": layer, "format": one.name, "error": error})},
        )

    def find(self, layer: str, one: Format) -> tuple[GridTensor, float] | None:
        """The layer and its error, to the bit as it was made; None: it is not kept."""
        from safetensors import safe_open

        path = self.path(layer, one)
        if not path.exists():
            return None
        with safe_open(str(path), framework="np") as file:
            names = set(file.keys())
            parts = {name: file.get_tensor(name) for name in PARTS if name in names}
            error = float(json.loads(file.metadata()["kept"])["error"])
        return tensor_of(parts, one), error

    def size_bytes(self, layers: Sequence[str], formats: Sequence[Format]) -> int:
        """Bytes on disk of what is kept of these."""
        paths = (self.path(layer, one) for layer in layers for one in formats)
        return sum(path.stat().st_size for path in paths if path.exists())


def tensor_of(parts: Mapping[str, np.ndarray], one: Format) -> GridTensor:
    """A file's parts as the tensor: the format tells what a checkpoint's config would."""
    rows, columns = (int(n) for n in parts[".weight_shape"])
    zeros = None
    if ".weight_zero_point" in parts:
        packed = np.ascontiguousarray(parts[".weight_zero_point"].T)
        zeros = np.ascontiguousarray(unpack(packed, one.bits, rows).T)
    return GridTensor(
        unpack(parts[".weight_packed"], one.bits, columns),
        parts[".weight_scale"].astype(np.float32),
        zeros,
        one.bits,
        one.group_size,
    )


def source_of(model_dir: Path, windows: torch.Tensor, dampening: float) -> str:
    """What the inputs of every layer depend on: the model's weights and config, the text, and how
    much the moments are dampened. windows: (windows, tokens) int64"""
    digest = hashlib.sha256()
    for path in [model_dir / "config.json", *sorted(weight_files(model_dir))]:
        with path.open("rb") as file:
            while data := file.read(CHUNK):
                digest.update(data)
    digest.update(json.dumps([list(windows.shape), dampening]).encode())
    digest.update(windows.numpy().tobytes())
    return digest.hexdigest()
