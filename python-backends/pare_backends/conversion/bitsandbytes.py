"""bitsandbytes' files of four bits (NF4, FP4), as transformers loads them (`load_in_4bit`): the
codes and scales that pare's own table form has, under the names of bitsandbytes' state dict.

Source: bitsandbytes' QuantState (`as_dict(packed=True)`, `from_dict`) and Params4bit.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.forms import TableTensor
from pare_backends.checkpoint.forms.number_tables import table
from pare_backends.checkpoint.forms.table import SCALE_BLOCK, BlockScales
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.conversion.check import (
    NOTHING,
    Written,
    finite_cosine,
    opened_facts,
    other_floats,
    read_written,
)
from pare_backends.conversion.files_format import Opened, Source, linear_refusal, part
from pare_backends.conversion.opening import open_by_transformers
from pare_backends.conversion.write import float_bytes, write_files
from pare_backends.failures import CallFailure
from pare_backends.progress import Report

NAME = "bitsandbytes"
KINDS = {
    "nf4": ("nf4", False),
    "nf4_double": ("nf4", True),
    "fp4": ("fp4", False),
    "fp4_double": ("fp4", True),
}
"""bitsandbytes' quant_type, and whether its scales are quantized too, by pare's own name."""
HOLDS = "codes of nf4 or fp4 of linear layers, all of one kind"
STATE = ".weight.quant_state.bitsandbytes__"


def held(source: Source) -> dict[str, TableTensor]:
    """The layers that are stored as codes into a table."""
    return source.checkpoint.in_form(TableTensor)


def refusal(source: Source) -> str | None:
    """Why it cannot hold the artifact, as the end of a sentence; None: it can."""
    tables = held(source)
    why = linear_refusal(source, tables, f"{HOLDS} (the method nf4)")
    if why is not None:
        return why
    for layer, tensor in tables.items():
        if tensor.format.name not in KINDS:
            return f"{layer} is rounded to {tensor.format.name}, and it holds {HOLDS}"
    first, *others = tables
    for layer in others:
        if tables[layer].format != tables[first].format:
            return (
                f"{first} is {tables[first].format.name}, {layer} {tables[layer].format.name}, and"
                f" it holds {HOLDS}"
            )
    return skipped_too(source)


def skipped_too(source: Source) -> str | None:
    """transformers leaves out every module whose name begins or ends with one that is left out."""
    packed = [source.module(layer) for layer in held(source)]
    for plain in plain_modules(source):
        same = next((m for m in packed if m.startswith(plain) or m.endswith(plain)), None)
        if same is not None:
            return f"{plain} stays floats, and transformers would take {same} for it by its name"
    return None


def plain_modules(source: Source) -> list[str]:
    """Modules that stay floats, the output head with them."""
    head = source.layout.head
    plain = [source.module(layer) for layer in source.plain]
    # A tied head is a Linear of its own for transformers, whatever the files hold.
    return [*plain, "lm_head" if head is None else source.module(head)]


def configuration(source: Source) -> dict[str, Any]:
    """`quantization_config` of config.json, in transformers' BitsAndBytesConfig's words."""
    kind, double = KINDS[next(iter(held(source).values())).format.name]
    return {
        "quant_method": NAME,
        "load_in_4bit": True,
        "load_in_8bit": False,
        "bnb_4bit_quant_type": kind,
        "bnb_4bit_use_double_quant": double,
        "bnb_4bit_compute_dtype": compute_type(source),
        "bnb_4bit_quant_storage": "uint8",
        "llm_int8_skip_modules": plain_modules(source),
    }


def compute_type(source: Source) -> str:
    """The type that the model's own configuration says it computes in."""
    return source.checkpoint.dtype


def parts(tensor: TableTensor, dtype: str) -> dict[str, np.ndarray]:
    """A packed layer as it lies in the files, by the ending of the name.

    dtype: what a layer is multiplied out to, that of the model
    """
    kind, double = KINDS[tensor.format.name]
    state: dict[str, Any] = {
        "quant_type": kind,
        "blocksize": tensor.block,
        "dtype": dtype,
        "shape": list(tensor.matrix),
    }
    made = {
        ".weight": tensor.codes.reshape(-1, 1),
        ".weight.absmax": tensor.scales.codes,
        ".weight.quant_map": table(kind).values,
    }
    if double:
        made[".weight.nested_absmax"] = tensor.scales.of_scales[1:]
        made[".weight.nested_quant_map"] = table("dynamic").values
        state |= {
            "nested_blocksize": SCALE_BLOCK,
            "nested_dtype": "float32",
            "nested_offset": float(tensor.scales.of_scales[0]),
        }
    made[f"{STATE}{kind}"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
    return made


def formula_bytes(tensor: TableTensor, dtype: str) -> int:
    """Half a byte a weight, the scales, the tables, and the words of the state."""
    _, double = KINDS[tensor.format.name]
    state = next(values for name, values in parts(tensor, dtype).items() if name.startswith(STATE))
    scales = tensor.blocks + 4 * -(-tensor.blocks // SCALE_BLOCK) + 4 * 256
    return -(-tensor.size // 2) + (scales if double else 4 * tensor.blocks) + 4 * 16 + len(state)


def whole_formula(source: Source) -> int:
    """Bytes of all tensors; the files add only their headers."""
    dtype = compute_type(source)
    return float_bytes(source) + sum(formula_bytes(one, dtype) for one in held(source).values())


def convert_bitsandbytes(source: Source, output: Path, report: Report) -> int:
    """Writes the directory. returns: bytes of its weights by the format's formula"""
    why = refusal(source)
    if why is not None:
        raise CallFailure("invalid", f"Cannot write {NAME} files: {why}")

    def packed() -> Iterator[tuple[str, np.ndarray]]:
        tables = held(source)
        for done, (layer, tensor) in enumerate(tables.items(), start=1):
            for ending, values in parts(tensor, compute_type(source)).items():
                yield f"{layer}{ending}", values
            report.progress("pack", done, len(tables), "layers")

    write_files(source, packed(), configuration(source), output, report)
    return whole_formula(source)


@dataclass(frozen=True)
class Layer:
    """A layer as the files hold it."""

    kind: str
    double: bool
    block: int
    matrix: tuple[int, int]  # (out, in)
    codes: np.ndarray  # (n / 2,) uint8, the first weight of a byte high
    scales: np.ndarray  # (blocks,) float32
    numbers: np.ndarray  # (16,) float32

    def weights(self) -> np.ndarray:
        """returns: (out, in) float32"""
        size = self.matrix[0] * self.matrix[1]
        places = np.empty(2 * self.codes.size, np.uint8)
        places[0::2], places[1::2] = self.codes >> 4, self.codes & 15
        each = np.repeat(self.scales, self.block)
        return (self.numbers[places[:size]] * each[:size]).reshape(self.matrix)

    def said(self) -> str:
        return words(self.kind, self.double)


def words(kind: str, double: bool) -> str:
    return f"{kind}{', doubly quantized' if double else ''}"


def state_of(stored: StoredTensors, layer: str) -> dict[str, Any]:
    """bitsandbytes' own words of a layer; raises where they are gone."""
    named = [name for name in stored if name.startswith(f"{layer}{STATE}")]
    if len(named) != 1:
        raise CallFailure("bad_input", f"{layer} has no quant_state in the files")
    found: dict[str, Any] = json.loads(bytes(stored[named[0]]).decode())
    return found


def four_bits_of(
    stored: StoredTensors, layer: str, state: dict[str, Any]
) -> tuple[np.ndarray, BlockScales, np.ndarray, np.ndarray | None]:
    """(codes, scales, the table of numbers, that of the scales; None: they are no codes)."""
    absmax = part(stored, layer, ".weight.absmax")
    of_scales, nested = np.zeros(0, np.float32), None
    if "nested_offset" in state:
        offset = np.array([state["nested_offset"]], np.float32)
        of_scales = np.concatenate([offset, part(stored, layer, ".weight.nested_absmax")])
        nested = part(stored, layer, ".weight.nested_quant_map")
    codes = part(stored, layer, ".weight").reshape(-1)
    return codes, BlockScales(absmax, of_scales), part(stored, layer, ".weight.quant_map"), nested


def read_layer(stored: StoredTensors, layer: str) -> Layer:
    """By what the files themselves say; raises where a part is gone."""
    state = state_of(stored, layer)
    codes, (absmax, of_scales), numbers, nested = four_bits_of(stored, layer, state)
    if nested is not None:
        each = np.repeat(of_scales[1:], int(state["nested_blocksize"]))[: len(absmax)]
        absmax = nested[absmax] * each + of_scales[0]
    return Layer(
        str(state["quant_type"]),
        nested is not None,
        int(state["blocksize"]),
        (int(state["shape"][0]), int(state["shape"][1])),
        codes,
        absmax,
        numbers,
    )


def check_layer(written: Written, layer: str, tensor: TableTensor) -> dict[str, Any]:
    """`ConvertedLayer` of the wire."""
    row: dict[str, Any] = {"layer": layer, "cosine": None, "opened_cosine": None}
    row |= {"claimed": None, "found": None, "problem": None}
    try:
        config = written.config
        kind, double = config["bnb_4bit_quant_type"], config["bnb_4bit_use_double_quant"]
        row["claimed"] = words(str(kind), bool(double))
        found = read_layer(written.stored, layer)
        row["found"] = found.said()
        if (found.matrix, found.block) != (tensor.matrix, tensor.block):
            return row | {"problem": "its shape or its blocks are not those of its source"}
        wanted = tensor.scales.values(tensor.format.scales)
        other = [
            name
            for name, own, theirs in (
                ("codes", found.codes, tensor.codes),
                ("scales", found.scales, wanted),
                ("table", found.numbers, table(tensor.format.numbers).values),
            )
            if not np.array_equal(own, theirs)
        ]
        if other:
            row["problem"] = f"its {' and '.join(other)} are not those of its source"
        matrix = tensor.weight().T if tensor.transposed else tensor.weight()
        row["cosine"] = finite_cosine(found.weights(), matrix)
        return row
    except (CallFailure, KeyError, TypeError, ValueError, IndexError) as error:
        return row | {"problem": error.message if isinstance(error, CallFailure) else repr(error)}


def check_bitsandbytes(directory: Path, source: Source, report: Report) -> dict[str, Any]:
    """check_conversion of bitsandbytes' files."""
    try:
        written = read_written(directory)
    except CallFailure as failure:
        return {**NOTHING, "unreadable": failure.message}
    tables = held(source)
    layers = []
    for done, (layer, tensor) in enumerate(tables.items(), start=1):
        layers.append(check_layer(written, layer, tensor))
        report.progress("check", done, len(tables), "layers")
    facts = {
        **NOTHING,
        "unreadable": None,
        "other_floats": other_floats(written, source),
        "tensor_bytes": written.tensor_bytes,
        "formula_bytes": whole_formula(source),
    }
    if all(row["problem"] is None for row in layers):
        with report.span("open", library=True):
            facts |= opened_facts(
                lambda: open_files(directory), lambda: as_read(written, source), source, layers
            )
    return facts | {"layers": layers}


def as_read(written: Written, source: Source) -> Checkpoint:
    """The model with every tensor as the files hold it, multiplied out."""
    floats: dict[str, np.ndarray] = {}
    for layer, tensor in held(source).items():
        weights = read_layer(written.stored, layer).weights()
        floats[f"{layer}.weight"] = weights.T if tensor.transposed else weights
    floats |= {name: written.stored[name] for name in source.checkpoint.floats}
    return Checkpoint(source.checkpoint.config, (), {}, floats)


def open_files(directory: Path) -> Opened | None:
    """The model as transformers loads it, multiplied in float32; None: bitsandbytes is not here."""
    if importlib.util.find_spec(NAME) is None:
        return None
    import torch

    model = open_by_transformers(directory)
    for module in model.modules():
        if hasattr(module, "compute_dtype"):
            module.compute_dtype = torch.float32
    return Opened(model, f"transformers {NAME}")
