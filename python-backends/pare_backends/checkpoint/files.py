"""Checkpoint directories: read without torch, written in shards, never half."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.config import (
    declared_bits,
    input_rounding,
    is_transposed,
    quantization_config,
)
from pare_backends.checkpoint.own_files import own_file
from pare_backends.checkpoint.packing import pack, unpack
from pare_backends.checkpoint.quantized import QuantizedTensor
from pare_backends.checkpoint.stored import StoredTensors, file_entries
from pare_backends.failures import StageFailure

SHARD_BYTES = 5_000_000_000
INDEX = "model.safetensors.index.json"
HALF_LARGEST = 65504.0
"""Files beside the weights that belong to the model: tokenizer, templates, generation."""
COMPANIONS = (
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "generation_config.json",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)
PARTS = (".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_shape")


@dataclass(frozen=True)
class Checkpoint:
    """A model: its configuration, companion files, quantized and other tensors."""

    config: Mapping[str, Any]  # config.json without quantization_config
    files: tuple[Path, ...]  # tokenizer and other companions, copied as they are
    quantized: Mapping[str, QuantizedTensor]  # by layer, such as model.layers.0.mlp.up_proj
    floats: Mapping[str, np.ndarray] = field(repr=False)  # by tensor name; read when asked for

    def weight(self, layer: str) -> np.ndarray:
        """A layer's weight as the model has it, dequantized where it is quantized.

        returns: (out, in) float32, (in, out) of a layer that the model holds transposed
        """
        if layer in self.quantized:
            tensor = self.quantized[layer]
            return tensor.dequantize().T if tensor.transposed else tensor.dequantize()
        return np.asarray(self.floats[f"{layer}.weight"], dtype=np.float32)

    def float_shape(self, name: str) -> tuple[int, ...]:
        """Shape of an unquantized tensor, without reading it where it is still on disk."""
        if isinstance(self.floats, StoredTensors):
            return self.floats.entries[name].shape
        return tuple(self.floats[name].shape)

    def with_quantized(self, tensors: Mapping[str, QuantizedTensor]) -> Checkpoint:
        """The checkpoint with these layers' float weights replaced; the others stay as they are,
        bit for bit."""
        twice = sorted(set(tensors) & set(self.quantized))
        if twice:
            raise StageFailure(
                "invalid", f"Cannot quantize {twice[0]}: it is quantized already in the parent"
            )
        gone = {f"{layer}.weight" for layer in tensors}
        kept = set(self.floats) - gone
        floats = (
            self.floats.subset(kept)
            if isinstance(self.floats, StoredTensors)
            else {name: self.floats[name] for name in self.floats if name in kept}
        )
        return replace(self, quantized={**self.quantized, **tensors}, floats=floats)


def shard_names(index: Path) -> list[str]:
    """The files that an index names: all of them beside it."""
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StageFailure(
            "bad_input",
            f"Cannot read {index}: it must be JSON with a weight_map from tensors to files",
            hint="Download or copy the file again",
        ) from error
    elsewhere = [name for name in names if not isinstance(name, str) or Path(name).name != name]
    if elsewhere:
        raise StageFailure(
            "bad_input",
            f"Cannot read {index}: its files must lie beside it, {elsewhere[0]} does not",
        )
    return names


def weight_files(directory: str | Path) -> list[Path]:
    """The safetensors files of a checkpoint, by its index where it has one."""
    root = Path(directory)
    index = root / INDEX
    if os.path.lexists(index):
        names = shard_names(own_file(root, index))
        missing = [name for name in names if not os.path.lexists(root / name)]
        if missing:
            raise StageFailure(
                "bad_input", f"Cannot read {root}: its index names {missing[0]}, which is missing"
            )
        return [own_file(root, root / name) for name in names]
    # Other safetensors files may lie beside the model: adapters, calibration data.
    single = root / "model.safetensors"
    found = [single] if os.path.lexists(single) else sorted(root.glob("*.safetensors"))
    return [own_file(root, path) for path in found]


def read(directory: str | Path) -> Checkpoint:
    """A checkpoint directory; float tensors stay on disk until they are asked for."""
    root = Path(directory)
    paths = weight_files(root)
    if not (root / "config.json").exists() or not paths:
        raise StageFailure(
            "bad_input",
            f"Cannot read {root}: a checkpoint has config.json and safetensors files",
        )
    config = json.loads(own_file(root, root / "config.json").read_text())
    entries = {name: entry for path in paths for name, entry in file_entries(path).items()}
    stored = StoredTensors(entries)
    layers = [n.removesuffix(".weight_scale") for n in entries if n.endswith(".weight_scale")]
    quantized = {layer: read_quantized(stored, layer, config) for layer in layers}
    used = {f"{layer}{part}" for layer in layers for part in (*PARTS, ".weight")}
    floats = stored.subset(set(entries) - used)
    beside = (root / name for name in COMPANIONS)
    companions = tuple(own_file(root, path) for path in beside if os.path.lexists(path))
    plain = {key: value for key, value in config.items() if key != "quantization_config"}
    return Checkpoint(plain, companions, quantized, floats)


def read_quantized(stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> QuantizedTensor:
    """One layer from its stored parts; the group size follows from their shapes."""
    scales = stored[f"{layer}.weight_scale"].astype(np.float32)
    if f"{layer}.weight_packed" not in stored:
        ints = stored[f"{layer}.weight"]
        if ints.dtype != np.int8:
            raise StageFailure(
                "bad_input", f"Cannot read {layer}: its weights are {ints.dtype}, expected int8"
            )
        bits, columns, zero_points = 8, ints.shape[1], None
    else:
        packed = stored[f"{layer}.weight_packed"]
        rows, columns = (int(n) for n in stored[f"{layer}.weight_shape"])
        bits = declared_bits(config, layer, packed.shape[1], columns)
        ints = unpack(packed, bits, columns)
        zero_points = None
        if f"{layer}.weight_zero_point" in stored:
            zero_packed = np.ascontiguousarray(stored[f"{layer}.weight_zero_point"].T)
            zero_points = np.ascontiguousarray(unpack(zero_packed, bits, rows).T)
    groups = scales.shape[1]
    group_size = -1 if groups == 1 else columns // groups
    input_bits, input_group = input_rounding(config, layer) or (None, -1)
    transposed = is_transposed(config, layer)
    return QuantizedTensor(
        ints, scales, zero_points, bits, group_size, input_bits, input_group, transposed
    )


def layer_tensors(layer: str, tensor: QuantizedTensor) -> dict[str, np.ndarray]:
    """A quantized layer as it lies on disk."""
    tensor.check(layer)
    scales = tensor.scales.astype(tensor.scale_dtype)
    if tensor.activation_bits is not None:
        return {f"{layer}.weight": tensor.ints, f"{layer}.weight_scale": scales}
    parts = {
        f"{layer}.weight_packed": pack(tensor.ints, tensor.bits),
        f"{layer}.weight_scale": scales,
        f"{layer}.weight_shape": np.array(tensor.ints.shape, dtype=np.int64),
    }
    if tensor.zero_points is not None:
        by_group = np.ascontiguousarray(tensor.zero_points.T)
        parts[f"{layer}.weight_zero_point"] = np.ascontiguousarray(pack(by_group, tensor.bits).T)
    return parts


def half(values: np.ndarray) -> np.ndarray:
    """float16, or float32 where float16 would overflow; integers as they are."""
    if values.dtype.kind != "f":
        return values
    if values.size and float(np.abs(values).max()) > HALF_LARGEST:
        return values.astype(np.float32)
    return values.astype(np.float16)


def stored_parts(checkpoint: Checkpoint) -> Iterator[tuple[str, np.ndarray]]:
    """Every tensor as it will lie on disk, one at a time."""
    for layer, tensor in checkpoint.quantized.items():
        yield from layer_tensors(layer, tensor).items()
    for name in checkpoint.floats:
        yield name, half(checkpoint.floats[name])


def write(
    checkpoint: Checkpoint, directory: str | Path, shard_bytes: int = SHARD_BYTES
) -> list[Path]:
    """Writes the directory and returns its weight files; one file, or shards with an index."""
    root = Path(directory)
    root.mkdir(parents=True, exist_ok=True)
    shards = write_shards(checkpoint, root, shard_bytes)
    paths = name_shards(root, shards)
    for companion in checkpoint.files:
        shutil.copyfile(companion, root / companion.name)
    config = dict(checkpoint.config)
    if checkpoint.quantized:
        config["quantization_config"] = quantization_config(checkpoint.quantized)
    config["dtype"] = "float16"
    config.pop("torch_dtype", None)
    # Last: a directory without it is no checkpoint, so a killed writer leaves none behind.
    (root / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    return paths


def write_shards(checkpoint: Checkpoint, root: Path, limit: int) -> list[tuple[Path, list[str]]]:
    """Files of at most `limit` bytes under working names, with the tensors in each."""
    shards: list[tuple[Path, list[str]]] = []
    held: dict[str, np.ndarray] = {}
    size = 0
    for name, values in stored_parts(checkpoint):
        if held and size + values.nbytes > limit:
            shards.append(save_shard(root, len(shards), held))
            held, size = {}, 0
        held[name] = np.ascontiguousarray(values)
        size += values.nbytes
    if held:
        shards.append(save_shard(root, len(shards), held))
    return shards


def save_shard(root: Path, number: int, held: dict[str, np.ndarray]) -> tuple[Path, list[str]]:
    """Writes one file and makes sure that it is on the disk."""
    from safetensors.numpy import save_file

    path = root / f"part-{number}.safetensors"
    save_file(held, str(path), metadata={"format": "pt"})
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path, list(held)


def name_shards(root: Path, shards: list[tuple[Path, list[str]]]) -> list[Path]:
    """Gives the files the names that transformers looks for."""
    if len(shards) == 1:
        return [shards[0][0].rename(root / "model.safetensors")]
    paths: list[Path] = []
    places: dict[str, str] = {}
    for number, (path, names) in enumerate(shards, start=1):
        final = root / f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        paths.append(path.rename(final))
        places.update({name: final.name for name in names})
    total = sum(path.stat().st_size for path in paths)
    index = {"metadata": {"total_size": total}, "weight_map": places}
    (root / INDEX).write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")
    return paths
