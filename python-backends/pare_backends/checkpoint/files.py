"""Checkpoint directories: read without torch, written in shards, never half."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pare_backends.checkpoint.adapter import Adapter, read_adapter, write_adapter
from pare_backends.checkpoint.forms import (
    CONFIG_KEYS,
    GridTensor,
    StoredTensor,
    form_entries,
    read_forms,
)
from pare_backends.checkpoint.forms.floats import BFLOAT16, kept, read_back
from pare_backends.checkpoint.own_code import runs_code, tokenizer_names_code
from pare_backends.checkpoint.own_files import own_file
from pare_backends.checkpoint.setting import read_setting
from pare_backends.checkpoint.stored import Entry, StoredTensors, file_entries
from pare_backends.failures import CallFailure

SHARD_BYTES = 5_000_000_000
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
"""Files beside the weights that belong to the model: tokenizer, templates, generation."""
COMPANIONS = (
    "added_tokens.json",
    "bpe.codes",
    "chat_template.jinja",
    "chat_template.json",
    "generation_config.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "special_tokens_map.json",
    "spiece.model",
    "tekken.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.bpe",
    "vocab.json",
    "vocab.txt",
)
OWN_CODE = "*.py"
"""Files of a model that brings its own code (auto_map in config.json or the tokenizer's)."""
TORCH_DTYPE = "torch_dtype"
"""What config.json called its `dtype` before transformers 5."""
DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
"""Types that a model may be loaded in, by safetensors' names of them."""
T = TypeVar("T", bound=StoredTensor)


@dataclass(frozen=True)
class Checkpoint:
    """A model: its configuration, companion files, tensors in a stored form and plain floats."""

    config: Mapping[str, Any]  # config.json without what it says of stored forms
    files: tuple[Path, ...]  # tokenizer and other companions, copied as they are
    stored: Mapping[str, StoredTensor]  # by layer, such as model.layers.0.mlp.up_proj
    floats: Mapping[str, np.ndarray] = field(repr=False)  # by tensor name; read when asked for
    adapter: Adapter | None = None  # beside the weights, which are those without it
    renamed: frozenset[str] = frozenset()  # of the tensors, those the model has other names for

    @property
    def dtype(self) -> str:
        """The type that loaders compute in by config.json: float16, bfloat16 or float32."""
        return kept_dtype(self.config, {})

    def float_type(self, name: str) -> str:
        """The type that a tensor of plain floats has on disk, but where it would not hold it.

        bfloat16 stays what it is: float16 has not its range. float32 lies in 16 bits and loaders
        turn it to float32 again, but for renamed tensors beside packed layers: transformers leaves
        those as they lie.
        """
        if self.dtype == "float32" and name in self.renamed and self.in_form(GridTensor):
            return "float32"
        return "bfloat16" if self.dtype == "bfloat16" else "float16"

    def kept_floats(self, name: str) -> np.ndarray:
        """A tensor of plain floats as it lies on disk."""
        return kept(self.floats[name], self.float_type(name))

    def as_read_back(self, name: str, values: np.ndarray) -> np.ndarray:
        """Floats as they will be read once the checkpoint is written with them under a name."""
        return read_back(kept(values, self.float_type(name)))

    def weight(self, layer: str) -> np.ndarray:
        """A layer's weight as the model has it, whatever form it is stored in.

        returns: (out, in) float32, (in, out) of a layer that the model holds transposed
        """
        if layer in self.stored:
            return self.stored[layer].weight()
        return np.asarray(self.floats[f"{layer}.weight"], dtype=np.float32)

    def shape(self, layer: str) -> tuple[int, ...]:
        """Shape of a layer's weight as the model has it, without reading floats."""
        stored = self.stored.get(layer)
        return self.float_shape(f"{layer}.weight") if stored is None else stored.shape

    def float_shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor of plain floats, without reading it where it is still on disk."""
        if isinstance(self.floats, StoredTensors):
            return self.floats.shape(name)
        return tuple(self.floats[name].shape)

    def in_form(self, form: type[T]) -> dict[str, T]:
        """The layers that are stored in one form."""
        return {name: held for name, held in self.stored.items() if isinstance(held, form)}

    def with_stored(self, tensors: Mapping[str, StoredTensor]) -> Checkpoint:
        """The checkpoint with these layers in a stored form, in the place of their floats or of a
        form that may be replaced; the others stay as they are, bit for bit."""
        self.check_replaceable(tensors)
        floats = self.without_floats({f"{layer}.weight" for layer in tensors})
        held = {
            layer: tensor.kept_as(self.dtype, f"{layer}.weight" in self.renamed)
            for layer, tensor in tensors.items()
        }
        return replace(self, stored={**self.stored, **held}, floats=floats)

    def with_floats(self, tensors: Mapping[str, np.ndarray]) -> Checkpoint:
        """The checkpoint with these tensors as plain floats, by their names in files and of any
        shape, in the place of what they were; the others stay as they are, bit for bit.

        A tensor that was in a stored form takes its whole size again: method after method, the
        last one chooses the form.
        """
        layers = {name.removesuffix(".weight") for name in tensors if name.endswith(".weight")}
        gone = layers & set(self.stored)
        self.check_replaceable(gone)
        kept = {name: held for name, held in self.stored.items() if name not in gone}
        floats = (
            self.floats.with_made(tensors)
            if isinstance(self.floats, StoredTensors)
            else {**self.floats, **tensors}
        )
        return replace(self, stored=kept, floats=floats)

    def check_replaceable(self, layers: Collection[str]) -> None:
        """Raises where one of the layers is in a form that no later action may change, or has an
        adapter, which was trained for its weights as they are."""
        adapted = sorted(set(layers) & set(() if self.adapter is None else self.adapter.modules()))
        if adapted:
            raise CallFailure(
                "invalid",
                f"Cannot change {adapted[0]}: an adapter lies beside its weights in the parent",
                hint="Merge the adapter (merge: true): its weights can be changed further",
            )
        for layer in sorted(set(layers) & set(self.stored)):
            if not self.stored[layer].REPLACEABLE:
                raise CallFailure(
                    "invalid",
                    f"Cannot change {layer}: it is {self.stored[layer].STATE} already in the"
                    " parent",
                )

    def without_floats(self, names: Collection[str]) -> Mapping[str, np.ndarray]:
        """The float tensors but these, unread where they are on disk."""
        kept = set(self.floats) - set(names)
        if isinstance(self.floats, StoredTensors):
            return self.floats.subset(kept)
        return {name: self.floats[name] for name in self.floats if name in kept}


def kept_dtype(config: Mapping[str, Any], entries: Mapping[str, Entry]) -> str:
    """The type that a loader takes by config.json or, where it says none, that of most values."""
    said = config.get("dtype") or config.get(TORCH_DTYPE)
    if said in DTYPES.values():
        return str(said)
    counts = dict.fromkeys(DTYPES, 0)
    for entry in entries.values():
        if entry.dtype in counts:
            counts[entry.dtype] += entry.values
    return DTYPES[max(counts, key=lambda name: counts[name])]


def shard_names(index: Path) -> list[str]:
    """The files that an index names: all of them beside it."""
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CallFailure(
            "bad_input",
            f"Cannot read {index}: it must be JSON with a weight_map from tensors to files",
            hint="Download or copy the file again",
        ) from error
    elsewhere = [name for name in names if not isinstance(name, str) or Path(name).name != name]
    if elsewhere:
        raise CallFailure(
            "bad_input",
            f"Cannot read {index}: its files must lie beside it, {elsewhere[0]} does not",
        )
    return names


def weight_files(directory: str | Path) -> list[Path]:
    """The safetensors files of a checkpoint, those that transformers takes: model.safetensors
    where there is one, else those that the index names."""
    root = Path(directory)
    single, index = root / SINGLE, root / INDEX
    if os.path.lexists(index) and not os.path.lexists(single):
        names = shard_names(own_file(root, index))
        missing = [name for name in names if not os.path.lexists(root / name)]
        if missing:
            raise CallFailure(
                "bad_input", f"Cannot read {root}: its index names {missing[0]}, which is missing"
            )
        return [own_file(root, root / name) for name in names]
    # Other safetensors files may lie beside the model: adapters, calibration data.
    found = [single] if os.path.lexists(single) else sorted(root.glob("*.safetensors"))
    return [own_file(root, path) for path in found]


def tensor_entries(paths: Iterable[Path]) -> dict[str, Entry]:
    """Every tensor of these files; `CallFailure` where two hold one of the same name, of which
    no rule says which is the model's."""
    found: dict[str, Entry] = {}
    for path in paths:
        for name, entry in file_entries(path).items():
            if name in found:
                raise CallFailure(
                    "bad_input",
                    f"Cannot read {path.parent}: {found[name].path.name} and {path.name} both hold"
                    f" {name}",
                    hint="Take the file that is not the model's out of the directory",
                )
            found[name] = entry
    return found


def brings_code(root: Path, config: Mapping[str, Any]) -> bool:
    """Whether the model or its tokenizer is made by Python files beside it."""
    return runs_code(config) or tokenizer_names_code(root)


def read(directory: str | Path) -> Checkpoint:
    """A checkpoint directory; float tensors stay on disk until they are asked for."""
    root = Path(directory)
    setting = read_setting(root)
    paths = weight_files(root)
    if setting is not None and not paths:
        raise CallFailure(
            "invalid",
            f"Cannot read weights from {root}: it is a setting, {setting.label()}, of the weights"
            f" of the artifact {setting.weights}",
            hint="Nothing that changes weights may follow it: a setting is the last of a strategy",
        )
    if not (root / "config.json").exists() or not paths:
        raise CallFailure(
            "bad_input",
            f"Cannot read {root}: a checkpoint has config.json and safetensors files",
        )
    config = json.loads(own_file(root, root / "config.json").read_text())
    entries = tensor_entries(paths)
    stored = StoredTensors(entries)
    tensors, used = read_forms(stored, config)
    floats = stored.subset(set(entries) - used)
    beside = [path for name in COMPANIONS if os.path.lexists(path := root / name)]
    if brings_code(root, config):
        beside += sorted(root.glob(OWN_CODE))
    companions = tuple(own_file(root, path) for path in beside)
    plain = {key: value for key, value in config.items() if key not in (*CONFIG_KEYS, TORCH_DTYPE)}
    plain["dtype"] = kept_dtype(config, entries)
    if not runs_code(config):
        plain.pop("auto_map", None)
    return Checkpoint(plain, companions, tensors, floats, read_adapter(root))


def stored_parts(checkpoint: Checkpoint) -> Iterator[tuple[str, np.ndarray]]:
    """Every tensor as it will lie on disk, one at a time."""
    for layer, tensor in checkpoint.stored.items():
        tensor.check(layer)
        for part, values in tensor.parts().items():
            yield f"{layer}{part}", values
    for name in checkpoint.floats:
        yield name, checkpoint.kept_floats(name)


def write(
    checkpoint: Checkpoint, directory: str | Path, shard_bytes: int = SHARD_BYTES
) -> list[Path]:
    """Writes the directory and returns its weight files; one file, or shards with an index."""
    root = Path(directory)
    root.mkdir(parents=True, exist_ok=True)
    paths = write_tensors(stored_parts(checkpoint), root, shard_bytes)
    if checkpoint.adapter is not None:
        paths = [*paths, write_adapter(checkpoint.adapter, root)]
    for companion in checkpoint.files:
        shutil.copyfile(companion, root / companion.name)
    config = {**checkpoint.config, **form_entries(checkpoint.stored)}
    # Last: a directory without it is no checkpoint, so a killed writer leaves none behind.
    (root / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    return paths


def write_tensors(
    tensors: Iterable[tuple[str, np.ndarray]], root: Path, shard_bytes: int = SHARD_BYTES
) -> list[Path]:
    """Writes tensors by their names, which are taken one at a time; returns the files."""
    return name_shards(root, write_shards(tensors, root, shard_bytes))


def write_shards(
    tensors: Iterable[tuple[str, np.ndarray]], root: Path, limit: int
) -> list[tuple[Path, list[str]]]:
    """Files of at most `limit` bytes under working names, with the tensors in each."""
    shards: list[tuple[Path, list[str]]] = []
    held: dict[str, np.ndarray] = {}
    size = 0
    for name, values in tensors:
        if held and size + values.nbytes > limit:
            shards.append(save_shard(root, len(shards), held))
            held, size = {}, 0
        held[name] = np.asarray(values, order="C")  # a single number stays one
        size += values.nbytes
    if held:
        shards.append(save_shard(root, len(shards), held))
    return shards


def save_shard(root: Path, number: int, held: dict[str, np.ndarray]) -> tuple[Path, list[str]]:
    """Writes one file and makes sure that it is on the disk."""
    from safetensors import TensorSpec, serialize_file

    path = root / f"part-{number}.safetensors"
    # As safetensors.numpy does, which has no name for bfloat16 without ml_dtypes.
    specs = {
        name: TensorSpec(
            dtype="bfloat16" if values.dtype == BFLOAT16 else values.dtype.name,
            shape=values.shape,
            data_ptr=values.ctypes.data,
            data_len=values.nbytes,
        )
        for name, values in held.items()
    }
    serialize_file(specs, str(path), metadata={"format": "pt"})
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path, list(held)


def name_shards(root: Path, shards: list[tuple[Path, list[str]]]) -> list[Path]:
    """Gives the files the names that transformers looks for."""
    if len(shards) == 1:
        return [shards[0][0].rename(root / SINGLE)]
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
