"""Makes the form of llama.cpp: an artifact as a GGUF file that holds its own integers.

Written: model.gguf, gguf.json (what a token reads, and with which numerics) and the artifact's
config.json. Integers are never rounded again (`gguf_blocks.py`), llama.cpp's own blocks stand as
they are; matrices of floats become float16, or what is asked for; vectors float32. `exact`: every
weight multiplied out to float32, for the proof that names, order of rows and architecture are
right, whatever a runtime does with packed integers.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGML_QUANT_VERSION, GGMLQuantizationType, GGUFWriter, LlamaFileType
from gguf.quants import quantize

from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.checkpoint.own_files import own_file
from pare_backends.failures import CallFailure
from pare_backends.progress import Report
from pare_backends.runtimes.llama_cpp.gguf_blocks import in_columns, multiplied, to_blocks
from pare_backends.runtimes.llama_cpp.gguf_directory import DESCRIPTION_FILE, MODEL_FILE
from pare_backends.runtimes.llama_cpp.gguf_layout import (
    IN_FLOAT32,
    GgufLayout,
    expert_of,
)
from pare_backends.runtimes.llama_cpp.gguf_tokenizer import add_tokenizer
from pare_backends.runtimes.stored_weights import StoredWeights

EMBEDDING = "token_embd.weight"
POSITIONS = "position_embd.weight"
LOOKED_UP = (POSITIONS, "per_layer_token_embd.weight")
"""Of which a token reads a row."""
HEAD = "output.weight"
LARGEST_HALF = 65504.0
QUANTIZER = f"{__package__}.programs.quantizer"
"""The program that quantizes such a file, in the runtime's environment."""
LOGITS = f"{__package__}.programs.logits"
"""The program that computes logits of one there."""
FILE_TYPES = {
    "F32": LlamaFileType.ALL_F32,
    "F16": LlamaFileType.MOSTLY_F16,
    "BF16": LlamaFileType.MOSTLY_BF16,
    "Q4_0": LlamaFileType.MOSTLY_Q4_0,
    "Q4_1": LlamaFileType.MOSTLY_Q4_1,
    "Q5_0": LlamaFileType.MOSTLY_Q5_0,
    "Q5_1": LlamaFileType.MOSTLY_Q5_1,
    "Q8_0": LlamaFileType.MOSTLY_Q8_0,
    "Q2_K": LlamaFileType.MOSTLY_Q2_K,
    "Q3_K": LlamaFileType.MOSTLY_Q3_K_M,
    "Q4_K": LlamaFileType.MOSTLY_Q4_K_M,
    "Q5_K": LlamaFileType.MOSTLY_Q5_K_M,
    "Q6_K": LlamaFileType.MOSTLY_Q6_K,
    "IQ1_S": LlamaFileType.MOSTLY_IQ1_S,
    "IQ1_M": LlamaFileType.MOSTLY_IQ1_M,
    "IQ2_XXS": LlamaFileType.MOSTLY_IQ2_XXS,
    "IQ2_XS": LlamaFileType.MOSTLY_IQ2_XS,
    "IQ2_S": LlamaFileType.MOSTLY_IQ2_S,
    "IQ3_XXS": LlamaFileType.MOSTLY_IQ3_XXS,
    "IQ3_S": LlamaFileType.MOSTLY_IQ3_S,
    "IQ4_NL": LlamaFileType.MOSTLY_IQ4_NL,
    "IQ4_XS": LlamaFileType.MOSTLY_IQ4_XS,
    "TQ1_0": LlamaFileType.MOSTLY_TQ1_0,
    "TQ2_0": LlamaFileType.MOSTLY_TQ2_0,
    "MXFP4": LlamaFileType.MOSTLY_MXFP4_MOE,
}


@dataclass(frozen=True)
class Tensor:
    """A tensor as the file holds it."""

    kind: str  # F32, F16, BF16 or one of BLOCK_KINDS
    data: np.ndarray  # as GGUFWriter takes it: bytes of blocks, or floats
    scale_error: float = 0.0
    note: str | None = None


@dataclass(frozen=True)
class WrittenFile:
    """What stands in a written file."""

    formats: dict[str, int]  # matrices by format, such as Q4_0
    scale_error: float  # largest relative change of a scale or offset by float16
    notes: list[str]


def make(
    artifact: Path, output: Path, exact: bool, report: Report, precision: str = "f16"
) -> list[str]:
    """`make_form` of runtimes/registry.py."""
    return write_gguf(artifact, output, exact, report, precision).notes


def write_gguf(
    source: Path,
    output: Path,
    exact: bool,
    report: Report,
    precision: str = "f16",
    multiplies: bool = True,
) -> WrittenFile:
    """Writes `model.gguf`, `gguf.json` and `config.json` into `output`.

    precision: of matrices of floats: f16, bf16 or f32; multiplies: as `GgufLayout` has it; without
    it matrices are the checkpoint's own, as a quantizer wants them
    """
    weights = StoredWeights(str(source))
    layout = GgufLayout(weights.config, multiplies)
    names = [name for name in weights.names() if not layout.is_left_out(name)]
    writer = GGUFWriter(output / MODEL_FILE, layout.architecture)
    layout.write_keys(writer)
    layout.write_numbers(writer, weights)
    note = add_tokenizer(writer, source, int(weights.config["vocab_size"]))
    notes = {one for one in (note, *layout.notes) if one is not None}
    kinds: Counter[str] = Counter()
    read, error = 0, 0.0
    multiplied: set[str] = set()
    with report.span("write_gguf", library=False):
        stacked = layout.stacked(names)
        for done, (own, several) in enumerate(stacked.items()):
            name = several[0]
            tensor = in_one(several, weights, layout, exact, precision)
            kind = GGMLQuantizationType[tensor.kind]
            for part, data in zip(layout.names(name), layout.apart(name, tensor.data), strict=True):
                writer.add_tensor(part, data, raw_dtype=kind)
                kinds[tensor.kind] += data.ndim > 1
            if tensor.note is not None:
                notes.add(tensor.note)
            error = max(error, tensor.scale_error)
            share = layout.experts_used() if layout.is_of_experts(name) else 1.0
            read += int(share * bytes_read(own, tensor.data, HEAD not in stacked))
            if (
                tensor.data.ndim > 1
                and own not in LOOKED_UP
                and (own != EMBEDDING or HEAD not in stacked)
            ):
                multiplied.add(tensor.kind)
            report.progress("write the GGUF file", done + 1, len(stacked), "tensors")
        for unread, zeros in (layout.unread() if multiplies else {}).items():
            blocks = GGMLQuantizationType.Q4_0 if zeros.dtype == np.uint8 else None
            writer.add_tensor(unread, zeros, raw_dtype=blocks)
        for factors, values in (layout.rope.tensors() if layout.rope else {}).items():
            writer.add_tensor(factors, values)
        writer.add_file_type(FILE_TYPES[kinds.most_common(1)[0][0]])
        writer.add_quantization_version(GGML_QUANT_VERSION)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    shutil.copyfile(own_file(source, source / "config.json"), output / "config.json")
    description: dict[str, Any] = {
        "version": 1,
        "bytes_read_per_token": read,
        # llama.cpp rounds the inputs of packed weights to 8 bits in blocks, those of F16 to it.
        "activation_group": max(
            (BLOCK_KINDS[kind].weights for kind in multiplied & BLOCK_KINDS.keys()), default=0
        ),
        "inference_precision": next(
            (kind.lower() for kind in ("F16", "BF16") if kind in multiplied), "f32"
        ),
        "notes": sorted(notes),
    }
    (output / DESCRIPTION_FILE).write_text(json.dumps(description, indent=1) + "\n")
    return WrittenFile(dict(kinds), error, sorted(notes))


def in_one(
    names: list[str],
    weights: StoredWeights,
    layout: GgufLayout,
    exact: bool,
    precision: str,
) -> Tensor:
    """A tensor of the file: the checkpoint's own, or its experts' one behind another.

    raises: CallFailure where experts are in several kinds of block, of which a tensor has one
    """
    first, *others = (held(name, weights, layout, exact, precision) for name in names)
    if expert_of(names[0]) < 0:
        return first
    for name, other in zip(names[1:], others, strict=True):
        if other.kind != first.kind:
            raise CallFailure(
                "invalid",
                f"Cannot write this model as a GGUF file: {names[0]} is {first.kind} and {name}"
                f" {other.kind}, and llama.cpp holds them in one tensor, of one kind of block",
                "give all experts of a layer, or projections of streams, one format",
            )
    data = np.stack([first.data, *(other.data for other in others)])
    error = max(one.scale_error for one in (first, *others))
    return Tensor(first.kind, data, error, first.note)


def held(
    name: str, weights: StoredWeights, layout: GgufLayout, exact: bool, precision: str = "f16"
) -> Tensor:
    """A tensor in the file's form and order of rows."""
    factor, columns = layout.factor(name), layout.column_order(name)
    torn = not layout.holds_rows(name)
    held_blocks = None if exact or torn else weights.blocks(name)
    if held_blocks is not None:
        order = layout.row_order(name, len(held_blocks.blocks))
        own = multiplied(name, held_blocks.kind, held_blocks.blocks, factor)
        ordered = _ordered(in_columns(name, held_blocks.kind, own.data, columns), order)
        if held_blocks.experts:
            ordered = ordered.reshape(held_blocks.experts, -1, ordered.shape[1])
        return Tensor(held_blocks.kind, ordered, own.scale_error)
    if weights.is_packed(name) and not torn:
        packed = weights.packed(name)
        scales = (packed.scales.T * factor).T.astype(np.float32)
        packed = replace(packed, scales=scales)
        order = layout.row_order(name, packed.rows)
        if exact:
            return Tensor("F32", _ordered(_in_columns(packed.dequantize(), columns), order))
        blocks = to_blocks(name, packed)
        data = in_columns(name, blocks.kind, blocks.data, columns)
        wide = None
        if packed.bits not in (4, 8):
            wide = f"{packed.bits}-bit integers run as {blocks.kind}, 4 bits each"
        return Tensor(blocks.kind, _ordered(data, order), blocks.scale_error, wide)
    values = weights.floats(name).astype(np.float32)
    if layout.is_turned(name):
        values = np.ascontiguousarray(values.swapaxes(-1, -2))
    if (added := weights.added(name)) is not None:
        values += added
    if (shift := layout.norm_shift(name)) != 0:
        values += shift
    values = layout.as_computed(name, values)
    values = (values.T * factor).T.astype(np.float32)
    values = _ordered(_in_columns(values, columns), layout.row_order(name, len(values)))
    # A router's rows are few and choose: llama.cpp's own converter leaves them in float32.
    if exact or values.ndim == 1 or precision == "f32" or name.endswith(IN_FLOAT32):
        return Tensor("F32", values)
    note = None
    if torn and weights.is_packed(name):
        note = f"{name.split('.')[-2]} is no integers in the file: llama.cpp has it half turned"
    if precision == "bf16":
        return Tensor("BF16", quantize(values, GGMLQuantizationType.BF16), 0.0, note)
    if np.abs(values).max(initial=0) > LARGEST_HALF:
        return Tensor("F32", values, 0.0, f"{name} stays float32: float16 ends at {LARGEST_HALF:g}")
    return Tensor("F16", values.astype(np.float16), 0.0, note)


def _ordered(values: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    return values if order is None else np.ascontiguousarray(values[order])


def _in_columns(values: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
    return values if columns is None else np.ascontiguousarray(values[:, columns])


def bytes_read(name: str, data: np.ndarray, tied: bool) -> int:
    """What a generated token reads of a tensor: all of it, but of the embeddings one row, and all
    of that of tokens once more where it is the output head too. name: the file's"""
    if name in LOOKED_UP:
        return data.nbytes // len(data)
    if name != EMBEDDING:
        return data.nbytes
    return data.nbytes // len(data) + (data.nbytes if tied else 0)
