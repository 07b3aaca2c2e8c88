"""Directories of safetensors as checkpoints: floats, pare's own forms, and the layouts that other
quantizers write. Which layout it is, its configuration says; its tensors must bear it out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.empty_model import load_config
from pare_backends.checkpoint.files import kept_dtype, tensor_entries, weight_files
from pare_backends.checkpoint.forms import GridTensor, StoredTensor, forms_by_layer
from pare_backends.checkpoint.own_files import check_directory
from pare_backends.checkpoint.stored import Entry, StoredTensors
from pare_backends.elsewhere.given import Given, Held, refused
from pare_backends.elsewhere.integers import compressed_layers, integer_layers
from pare_backends.elsewhere.microscaled import has_microscaled, microscaled_layers
from pare_backends.elsewhere.tables import float8_layers, four_bit_layers
from pare_backends.elsewhere.text_part import text_config, with_text_part
from pare_backends.failures import one_line
from pare_backends.models.checks import (
    check_adapter,
    check_pickles,
    packed_by,
    quantized_by,
    read_config,
)

OWN_FILES = {
    "quantize_config.json": "gptq",
    "quant_config.json": "awq",
    "hf_quant_config.json": "modelopt",
}
"""What AutoGPTQ, AutoAWQ and Model Optimizer wrote their words into, beside a config.json that says
nothing."""
MLX = "quantization"
"""Key of config.json by which MLX says how it quantized, beside `quantization_config`."""
Layers = tuple[dict[str, Held], set[str], list[str]]
"""Packed layers, the tensors that they are made of, and what is to be said of them."""


def open_folder(directory: Path) -> Given:
    """The directory's checkpoint; `CallFailure` where it is damaged, or of a layout that is not
    read."""
    check_directory(directory)
    config = read_config(directory)
    check_adapter(directory)
    files = weight_files(directory)
    if not files:
        check_pickles(directory)
        raise refused(directory.name, "it has no safetensors files")
    entries = tensor_entries(files)
    stored = StoredTensors(entries)
    method, words = quantization(directory, config)
    layers, used, notes = packed_layers(directory.name, method, words, stored, config)
    if method is not None and not layers:
        raise refused(
            directory.name, f"its files say that it is quantized by {method}, and no tensor is"
        )
    plain = {name: entry for name, entry in entries.items() if name not in used}
    packed = packed_by(plain)
    if packed is not None:
        raise refused(
            directory.name, f"its config.json says nothing of {packed[0]}, a tensor of {packed[1]}"
        )
    floats = {name: floats_of(name, entry) for name, entry in plain.items()}
    try:
        said = load_config(directory)
    except Exception as error:  # transformers checks every field, and raises what it likes
        raise refused(directory.name, f"its config.json is not read: {one_line(error)}") from error
    given = Given(
        kind=method or "floats",
        files=tuple(files),
        config=said,
        dtype=kept_dtype(config, plain),
        tensors={**layers, **floats},
        directory=directory,
        notes=tuple(notes),
    )
    text = text_config(directory)
    return given if text is None else with_text_part(given, text)


def quantization(directory: Path, config: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """(who quantized it, None: nobody; the words of its configuration)."""
    method = quantized_by(config)
    if method is not None:
        words = config.get("quantization_config") or config.get("compression_config") or {}
        return method, dict(words) if isinstance(words, dict) else {}
    for name, own in OWN_FILES.items():
        path = directory / name
        if path.is_file():
            words = own_words(path)
            return str(words.get("quant_method") or own), words
    return None, {}


def own_words(path: Path) -> dict[str, Any]:
    """A quantizer's own file; `CallFailure` where it is none."""
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise refused(path.parent.name, f"its {path.name} is no JSON") from error
    if not isinstance(words, dict):
        raise refused(path.parent.name, f"its {path.name} holds no object")
    return words


def packed_layers(
    name: str,
    method: str | None,
    words: dict[str, Any],
    stored: StoredTensors,
    config: Mapping[str, Any],
) -> Layers:
    """The layers that are no plain floats, by the layout that the configuration names."""
    kinds: Mapping[str, Callable[[], Layers]] = {
        "gptq": lambda: integer_layers(name, "gptq", words, stored),
        "awq": lambda: integer_layers(name, "awq", words, stored),
        "auto-round": lambda: integer_layers(name, "auto-round", words, stored),
        "intel/auto-round": lambda: integer_layers(name, "auto-round", words, stored),
        "bitsandbytes": lambda: four_bit_layers(name, stored),
        "fp8": lambda: float8_layers(name, words, stored),
        "modelopt": lambda: microscaled_layers(name, words, stored),
    }
    if method == "compressed-tensors" and has_microscaled(stored):
        return microscaled_layers(name, words, stored)
    if method == "compressed-tensors" and has_float8(stored):
        return float8_layers(name, words, stored)
    if method is not None and method in kinds:
        return kinds[method]()
    if MLX in config and method not in (*kinds, "compressed-tensors"):
        raise refused(
            name,
            "it is MLX's, whose groups are shifted by floats, and no form of pare holds those",
            "Give a GGUF, GPTQ or AWQ file of the model",
        )
    if method not in (None, "compressed-tensors"):
        known = ", ".join([*kinds, "compressed-tensors"])
        raise refused(name, f"it is quantized by {method}, and what is read is {known}")
    return own_layers(name, stored, {**config, "quantization_config": words} if words else config)


def has_float8(stored: StoredTensors) -> bool:
    """Whether weights lie as 8-bit floats."""
    return any(entry.dtype == "F8_E4M3" for entry in stored.entries.values())


def own_layers(name: str, stored: StoredTensors, config: Mapping[str, Any]) -> Layers:
    """Layers in pare's own forms, compressed-tensors' integers among them."""
    layers, used = compressed_layers(name, stored, config)
    for layer, form in forms_by_layer(stored.entries).items():
        if form is not GridTensor:
            layers[layer] = held_as(form.read(stored, layer, config))
            used.update(f"{layer}{part}" for part in form.PARTS)
    return layers, used, []


def held_as(tensor: StoredTensor) -> Held:
    """A tensor that is read already."""
    return Held(tensor.shape, tensor, lambda: tensor)


def floats_of(name: str, entry: Entry) -> Held:
    """A tensor of plain floats."""

    def read() -> np.ndarray:
        return StoredTensors({name: entry})[name]

    return Held(entry.shape, None, read)
