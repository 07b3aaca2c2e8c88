"""GGUF files as checkpoints of a model that is at hand: its blocks as they are, their rows in the
model's order.

transformers' own tables say which tensor is which and how rows were moved. They are asked with
numbered rows, so that no architecture is known here by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import MODEL_ARCH_NAMES, GGUFReader, ReaderTensor, get_tensor_name_map
from gguf.quants import dequantize

from pare_backends.checkpoint.empty_model import empty_model
from pare_backends.checkpoint.file_names import Filled, filled_parameters, stored_names
from pare_backends.checkpoint.files import tensor_entries, weight_files
from pare_backends.checkpoint.forms import GgmlTensor, StoredTensor
from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.elsewhere.given import Given, Held, refused, unread_blocks
from pare_backends.models.gguf.asking_once import asking_once
from pare_backends.models.gguf.reading import DAMAGED, gguf_parts, open_parts, unreadable
from pare_backends.models.gguf.rope import ROPE_FACTORS
from pare_backends.models.gguf.settings import architecture_keys, gguf_config

FLOATS = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
"""Types of ggml that are plain floats."""
TEXT = "_text"
"""Ends the model_type of the part of a model of several kinds that reads text."""
MOST_LAYERS = 256
"""For which gguf-py's table of names is asked."""
SAME_AS = {("llama", "mistral")}
"""An architecture of llama.cpp's and a model_type of transformers' that it computes, too."""


def open_gguf_file(path: Path, original: Path, dtype: str) -> Given:
    """The file, or the files that it was split into, beside the model in `original`.

    dtype: of the original, for floats that the file holds in float32 alone
    raises: CallFailure for a file that is damaged, of another model or lacks a tensor
    """
    readers = open_parts(path)
    try:
        config = gguf_config(gguf_parts(path)[0], readers)
    except (*DAMAGED, RuntimeError) as error:
        raise unreadable(path, error) from error
    found = {one.name: one for reader in readers for one in reader.tensors}
    model: Any = empty_model(original)
    architecture, kind = architecture_keys(readers)[0], model.config.model_type
    of_file = config.model_type.removesuffix(TEXT)
    if of_file != kind.removesuffix(TEXT) and (architecture, kind) not in SAME_AS:
        raise refused(path.name, f"it is of the architecture {architecture}, the model is {kind}")
    tensors = placed(path.name, architecture, found, model, original)
    floats = {FLOATS.get(one.tensor_type.name) for one in found.values() if len(one.shape) > 1}
    wide = next((kind for kind in ("bfloat16", "float16") if kind in floats), dtype)
    return Given(
        kind="GGUF",
        files=tuple(gguf_parts(path)),
        config=config,
        dtype=wide,
        tensors=tensors,
        directory=None,
        tokens=vocabulary(readers),
    )


def vocabulary(readers: list[GGUFReader]) -> tuple[str, ...]:
    """The tokens by id; empty where the file holds none."""
    field = readers[0].fields.get("tokenizer.ggml.tokens")
    return () if field is None else tuple(str(one) for one in field.contents())


def placed(
    name: str, architecture: str, found: Mapping[str, ReaderTensor], model: Any, original: Path
) -> dict[str, Held]:
    """The tensors by the names that the original's files have for them.

    model: the original's architecture, without weights
    """
    from transformers.modeling_gguf_pytorch_utils import (
        TENSOR_PROCESSORS,
        TensorProcessor,
        get_gguf_hf_weights_map,
    )

    processor = TENSOR_PROCESSORS.get(architecture, TensorProcessor)(config=model.config.to_dict())
    try:
        with asking_once():
            places = get_gguf_hf_weights_map(model, processor, model_type=architecture)
    except NotImplementedError as error:
        raise refused(name, f"GGUF files of {architecture} are not read here") from error
    files = filled_parameters(model, stored_names(tensor_entries(weight_files(original))))
    names = {
        one.parameter: file
        for file, one in reversed(files.items())
        if one.expert is None and one.problem is None
    }
    stacks = expert_stacks(architecture, files)
    tensors: dict[str, Held] = {}
    for own, tensor in found.items():
        if own == ROPE_FACTORS:
            continue  # compared with the configuration
        if own in stacks:
            tensors |= held_experts(name, tensor, stacks[own])
            continue
        target = names.get(places.get(own, ""))
        if target is None:
            raise refused(name, f"it holds {own}, which the model has not")
        held = held_tensor(own, tensor, processor, places)
        layer = target if held.like is None else target.removesuffix(".weight")
        tensors[layer] = held
    lacking = next((own for own in stacks if own not in found), None)
    if lacking is not None:
        raise refused(name, f"it holds no tensor {lacking}", "Download or copy the file again")
    for place, parameter in places.items():
        if place not in found and parameter in names and not is_copy(model, parameter):
            raise refused(name, f"it holds no tensor {place}", "Download or copy the file again")
    return tensors


def expert_stacks(architecture: str, files: Mapping[str, Filled]) -> dict[str, dict[int, str]]:
    """The tensors that hold all experts of a layer, by their names in a file of llama.cpp's
    architecture: the names of the original's files by expert."""
    kind = next((kind for kind, named in MODEL_ARCH_NAMES.items() if named == architecture), None)
    if kind is None:
        return {}
    map_of = get_tensor_name_map(kind, MOST_LAYERS)
    found: dict[str, dict[int, str]] = {}
    for name, filled in files.items():
        if filled.expert is None:
            continue
        merged = name.replace(f".experts.{filled.expert}.", ".experts.")
        own = map_of.get_name(merged, try_suffixes=(".weight",))
        if own is not None:
            found.setdefault(own, {})[filled.expert] = name
    return found


def held_experts(file: str, tensor: ReaderTensor, names: Mapping[int, str]) -> dict[str, Held]:
    """Each expert's matrix of a tensor that holds a layer's, by layer where it is blocks."""
    count, *sides = (int(side) for side in reversed(tensor.shape))
    if count != len(names):
        raise refused(file, f"{tensor.name} is of {count} experts, the model has {len(names)}")
    shape, kind = (sides[0], sides[1]), tensor.tensor_type.name
    if kind not in FLOATS and kind not in BLOCK_KINDS:
        raise refused(file, f"the blocks of {tensor.name} are {kind}, which are not read here")

    def reader(expert: int) -> Callable[[], StoredTensor | np.ndarray]:
        def read() -> StoredTensor | np.ndarray:
            data = np.asarray(tensor.data)[expert]
            if kind in FLOATS:
                return np.asarray(dequantize(data, tensor.tensor_type), np.float32)
            blocks = np.ascontiguousarray(data.reshape(shape[0], -1))
            return GgmlTensor(blocks.view(np.uint8), kind, shape[1])

        return read

    like = None if kind in FLOATS else unread_blocks(kind, *shape)
    return {
        name if like is None else name.removesuffix(".weight"): Held(shape, like, reader(expert))
        for expert, name in names.items()
    }


def is_copy(model: Any, parameter: str) -> bool:
    """Whether a parameter is another's under a second name, as a tied head's is."""
    return parameter not in {name for name, _ in model.named_parameters()}


def held_tensor(name: str, tensor: ReaderTensor, processor: Any, places: Mapping[str, str]) -> Held:
    """One tensor; raises `CallFailure` for blocks that are not the model's own rows."""
    shape = tuple(int(side) for side in reversed(tensor.shape))
    kind = tensor.tensor_type.name

    def moved(values: np.ndarray) -> np.ndarray:
        return np.asarray(
            processor.process(
                weights=values, name=name, tensor_key_mapping=places, parsed_parameters={}
            ).weights
        )

    if kind in FLOATS:

        def floats() -> np.ndarray:
            return moved(np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32))

        try:
            own = moved(np.broadcast_to(np.float32(1), shape)).shape
        except ValueError as error:  # such as of heads that do not divide its rows
            raise refused(name, f"its shape {shape} does not fit the settings: {error}") from error
        return Held(tuple(own), None, floats)
    if kind not in BLOCK_KINDS or len(shape) != 2:
        raise refused(name, f"its blocks are {kind} of the shape {shape}, which are not read here")
    return Held(shape, unread_blocks(kind, *shape), blocks_reader(name, tensor, kind, shape, moved))


def blocks_reader(
    name: str,
    tensor: ReaderTensor,
    kind: str,
    shape: tuple[int, ...],
    moved: Callable[[np.ndarray], np.ndarray],
) -> Callable[[], StoredTensor]:
    """Reads blocks with their rows in the model's order."""

    def read() -> StoredTensor:
        numbered = np.repeat(np.arange(shape[0])[:, None], shape[1], axis=1)
        rows = moved(numbered)
        order = rows[:, 0] if rows.ndim == 2 else rows
        if rows.shape != shape or not (rows == order[:, None]).all():
            raise refused(name, "the model holds its rows otherwise than as rows")
        blocks = np.ascontiguousarray(np.asarray(tensor.data).reshape(shape[0], -1)[order])
        return GgmlTensor(blocks.view(np.uint8), kind, shape[1])

    return read
