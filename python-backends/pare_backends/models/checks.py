"""What a checkpoint directory must be before it is used: each refusal in one sentence."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.adapter import FOLDER
from pare_backends.checkpoint.files import INDEX, SINGLE, shard_names, tensor_entries, weight_files
from pare_backends.checkpoint.forms import own_forms
from pare_backends.checkpoint.own_code import needs_code, tokenizer_names_code
from pare_backends.checkpoint.stored import Entry, check_dtype
from pare_backends.failures import CallFailure, one_line
from pare_backends.progress import Report

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
CONVERT_HINT = (
    "Convert it once: AutoModelForCausalLM.from_pretrained(dir).save_pretrained(new_dir), on a"
    " machine where you trust the file"
)

QUANTIZATION_KEYS = ("quantization_config", "compression_config")
"""Where configurations name their quantization; the second in older files of compressed-tensors."""
PACKED_PARTS = {
    ".qweight": "GPTQ, AWQ or AutoRound",
    ".weight_packed": "compressed-tensors",
    ".quant_state": "bitsandbytes",
    ".SCB": "bitsandbytes",
}
"""Ends of names of packed tensors. AutoGPTQ and AutoAWQ wrote what they are of into a file of their
own (quantize_config.json, quant_config.json), so that config.json can say nothing of it."""


def read_config(directory: Path) -> dict[str, Any]:
    """config.json of a checkpoint."""
    path = directory / "config.json"
    if not path.exists():
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory} as a model: it has no config.json",
            hint="Give the directory that a checkpoint was saved to",
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        marked = path.read_bytes().startswith(codecs.BOM_UTF8)
        why = (
            "it begins with a byte order mark" if marked else f"it is not JSON ({one_line(error)})"
        )
        raise CallFailure(
            "bad_input",
            f"Cannot read {path}: {why}",
            hint="Save it as UTF-8 without the mark: transformers does not read it either"
            if marked
            else "Copy it again",
        ) from error
    if not isinstance(config, dict) or "model_type" not in config:
        raise CallFailure("bad_input", f"Cannot read {path}: it names no model_type")
    return config


def check_config(
    source: Path | str, config: dict[str, Any], trust_remote_code: bool, packed: bool = False
) -> None:
    """Raises where a checkpoint needs code of its own and, unless it may be packed, where it is
    compressed.

    source: the directory, or the name on the hub, as the sentence calls it
    """
    if needs_code(config) and not trust_remote_code:
        raise CallFailure(
            "bad_input",
            f"Cannot use {source}: it carries its own Python code (auto_map in config.json),"
            " which would run on this machine",
            hint="Read that code, then pass --trust-remote-code",
        )
    if config.get("is_encoder_decoder"):
        raise CallFailure(
            "bad_input",
            f"Cannot use {source}: {config['model_type']} has an encoder, whose reading its decoder"
            " answers (is_encoder_decoder in config.json)",
            hint="Give a causal language model",
        )
    named = config.get("transformers_weights")
    if named not in (None, SINGLE, INDEX):
        raise CallFailure(
            "bad_input",
            f"Cannot use {source}: its config.json says that its weights are {named}"
            " (transformers_weights), which is not read here",
            hint=f"Rename the file to {SINGLE} and take the field out of config.json",
        )
    if packed:
        return
    method = quantized_by(config)
    if method is not None:
        raise already_quantized(source, method)
    forms = own_forms(config)
    if forms:
        raise CallFailure(
            "bad_input",
            f"Cannot use {source} as a baseline: its weights are stored as {', '.join(forms)}, a"
            " form that an action of pare left",
            hint="Give the model that it was made from",
        )


def already_quantized(source: Path | str, method: str) -> CallFailure:
    """Why a quantized checkpoint is no baseline."""
    return CallFailure(
        "bad_input",
        f"Cannot use {source} as a baseline: it is quantized already ({method})",
        hint="Give the model that it was made from",
    )


def quantized_by(config: Mapping[str, Any]) -> str | None:
    """The method that a configuration names as its quantization; None: it names none."""
    for key in QUANTIZATION_KEYS:
        words = config.get(key)
        if not words:
            continue
        if not isinstance(words, dict):
            return "an unknown method"
        if words.get("load_in_4bit") or words.get("load_in_8bit"):
            return "bitsandbytes"
        own = "compressed-tensors" if key == "compression_config" else "an unknown method"
        return str(words.get("quant_method") or own)
    return None


def packed_by(names: Iterable[str]) -> tuple[str, str] | None:
    """A tensor that only a quantized checkpoint has, and whose it is; None: there is none."""
    for name in names:
        for part, method in PACKED_PARTS.items():
            if name.endswith(part) or f"{part}." in name:
                return name, method
    return None


def check_pickles(directory: Path) -> None:
    """Raises for a directory whose weights are pickles."""
    pickles = sorted(p.name for pattern in PICKLES for p in directory.glob(pattern))
    if pickles:
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: its weights are pickled ({pickles[0]}), which can run"
            " code when they are loaded",
            hint=CONVERT_HINT,
        )


def read_entries(directory: Path) -> dict[str, Entry]:
    """The checkpoint's tensors by name, every file's header checked against its bytes."""
    files = weight_files(directory)
    if not files:
        check_pickles(directory)
        raise CallFailure(
            "bad_input", f"Cannot use {directory} as a model: it has no safetensors files"
        )
    entries = tensor_entries(files)
    packed = packed_by(entries)
    if packed is not None:
        raise already_quantized(directory, f"{packed[0]} is a tensor of {packed[1]}")
    return entries


ADAPTER = "adapter_config.json"


def check_adapter(directory: Path) -> None:
    """Raises where peft's adapter lies beside the weights: transformers adds it to the model that
    it names, which is not the one that is read here."""
    if os.path.lexists(directory / ADAPTER):
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: an adapter lies beside its weights ({ADAPTER}), which"
            " transformers would add to them or to another model",
            hint="Merge it into the weights (peft's merge_and_unload) and save the model, or move"
            " the adapter's files out of the directory",
        )


def files_notes(directory: Path) -> list[str]:
    """What the directory holds twice, and which one is taken; in words."""
    notes = []
    if os.path.lexists(directory / SINGLE) and os.path.lexists(directory / INDEX):
        other = [name for name in shard_names(directory / INDEX) if name != SINGLE]
        if other:
            notes.append(
                f"It holds its weights twice: {SINGLE} is taken, as transformers does, and"
                f" {other[0]} and what else {INDEX} names is left out"
            )
    if os.path.lexists(directory / FOLDER / ADAPTER):
        notes.append(
            f"The adapter in {FOLDER}/ is a part of the model here; transformers leaves it out"
        )
    return notes


EXPONENTS = {
    "F16": (np.uint16, 0x7C00),
    "BF16": (np.uint16, 0x7F80),
    "F32": (np.uint32, 0x7F800000),
    "F64": (np.uint64, 0x7FF0000000000000),
}
"""Bits that are all set in NaN and in the infinities, by type."""
CHUNK_VALUES = 1 << 24


def check_finite(source: Path | str, entries: Mapping[str, Entry], report: Report) -> None:
    """Raises where a tensor cannot be read, or a value of it is NaN or infinite.

    Read in pieces and not widened: memory stays below 64 MB.
    """
    total = sum(entry.values for entry in entries.values())
    done = 0
    for name, entry in entries.items():
        check_dtype(name, entry)
        kind, mask = EXPONENTS.get(entry.dtype, (np.uint8, 0))
        for start in range(0, entry.values if mask else 0, CHUNK_VALUES):
            size = np.dtype(kind).itemsize
            count = min(CHUNK_VALUES, entry.values - start)
            offset = entry.start + start * size
            bits: np.ndarray = np.fromfile(entry.path, dtype=kind, count=count, offset=offset)
            wrong = int(np.count_nonzero((bits & kind(mask)) == kind(mask)))
            if wrong:
                raise CallFailure(
                    "bad_input",
                    f"Cannot use {source}: {name} holds NaN or infinite values",
                    hint="Download or copy the file again; a training that diverged leaves such",
                )
        done += entry.values
        report.progress("read the weights", done / 1e6, total / 1e6, "million values")


def check_tokenizer(directory: Path) -> Any:
    """The tokenizer, or a sentence where it cannot be read."""
    from pare_backends.checkpoint.load import load_tokenizer

    try:
        return load_tokenizer(directory)
    except Exception as error:
        # transformers and tokenizers raise a dozen types for a missing or damaged tokenizer.
        if tokenizer_names_code(directory) and "trust_remote_code" in str(error):
            raise CallFailure(
                "bad_input",
                f"Cannot use {directory}: its tokenizer is made by its own Python code (auto_map in"
                " tokenizer_config.json), which would run on this machine",
                hint="Read that code, then pass --trust-remote-code",
            ) from error
        raise CallFailure(
            "bad_input",
            f"Cannot read the tokenizer in {directory}: {one_line(error, 200)}",
            hint="A checkpoint needs tokenizer.json or its model's own vocabulary files",
        ) from error
