"""A trial as one GGUF file, as llama.cpp and what builds on it read it, and what is found of it
when gguf-py reads it back, which multiplies its blocks out by its own code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint, GgmlTensor, GridTensor
from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.checkpoint.size import float_bytes
from pare_backends.conversion.check import (
    NOTHING,
    finite_cosine,
    opened_facts,
    said,
)
from pare_backends.conversion.files_format import Grid, Opened, Source
from pare_backends.conversion.gguf_by_llama_cpp import llama_cpp_facts
from pare_backends.failures import CallFailure
from pare_backends.models.gguf.rope import ROPE_FACTORS
from pare_backends.progress import Report
from pare_backends.runtimes.registry import writer_of

NAME = "gguf"
FILE = "model.gguf"
BLOCK = 32
BLOCK_BITS = {"Q4_0": 4, "Q4_1": 4, "Q8_0": 8}
HALF, HALF_BYTES = "F16", 2
LEAST_COSINE = 0.9999
"""Of logits of one model, as the gate has it."""
SAME_FLOATS = 1e-3
"""Largest relative difference of floats, which the file holds as float16."""


def block_kind(tensor: GridTensor) -> str:
    """The kind of block that a packed layer takes."""
    if tensor.bits > BLOCK_BITS["Q4_0"]:
        return "Q8_0"
    return "Q4_0" if tensor.symmetric else "Q4_1"


def require_held(source: Source) -> None:
    """Raises where a GGUF file cannot hold the artifact: before any work."""
    writer_of(NAME, "gguf_layout").GgufLayout(source.config)  # refuses an architecture
    checkpoint = source.checkpoint
    why = None
    if checkpoint.adapter is not None:
        why = "an adapter lies beside its weights: merge it (merge: true) and convert that trial"
    others = checkpoint.stored.keys() - source.grids.keys() - checkpoint.in_form(GgmlTensor).keys()
    other = min(others, default=None)
    if other is not None:
        why = f"{other} is stored as {checkpoint.stored[other].FORM}, and it holds integers alone"
    for layer, tensor in source.grids.items():
        width = tensor.ints.shape[1] // tensor.scales.shape[1]
        if tensor.activation_bits is not None:
            why = f"the inputs of {layer} are rounded as the model runs, which it cannot say"
        elif not tensor.symmetric and block_kind(tensor) == "Q8_0":
            why = f"{layer} has 8-bit integers with zero points, for which it has no block"
        elif width % BLOCK != 0:
            why = f"{layer} has a scale for {width} weights, and its blocks have one for {BLOCK}"
    if why is not None:
        raise CallFailure("invalid", f"Cannot write a GGUF file: {why}")


def convert_gguf(source: Source, output: Path, report: Report) -> int:
    """Writes `model.gguf`, which has the tokenizer inside.

    returns: bytes of its tensors by the blocks' formula
    """
    require_held(source)
    output.mkdir(parents=True, exist_ok=True)
    # What the runtime keeps beside the file is of no use to others.
    with TemporaryDirectory(dir=output) as folder:
        writer_of(NAME, "make").write_gguf(source.directory, Path(folder), False, report)
        (Path(folder) / FILE).rename(output / FILE)
    return formula_bytes(source)


def lacking(output: Path) -> list[str]:
    """What another reader of the file leaves out, in words."""
    from pare_backends.models.gguf.reading import open_gguf  # gguf-py is not in every environment

    reader = open_gguf(output / FILE)
    scaled = any(".rope.scaling." in key for key in reader.fields)
    if not scaled and all(tensor.name != ROPE_FACTORS for tensor in reader.tensors):
        return []
    return [
        "transformers 5.17 leaves out how its positions are scaled, so that long texts come out"
        " otherwise: load it with llama.cpp, or what builds on it"
    ]


def formula_bytes(source: Source) -> int:
    """Blocks of packed layers and of llama.cpp's own, float16 of other matrices and of those whose
    rows the file has otherwise, float32 of vectors, of what chooses experts and of what frequencies
    are divided by; zeros that llama.cpp asks for."""
    checkpoint = source.checkpoint
    precise = writer_of(NAME, "gguf_layout").IN_FLOAT32
    layout = writer_of(NAME, "gguf_layout").GgufLayout(source.config)
    floats = sum(zeros.nbytes for zeros in layout.unread().values())
    for name in checkpoint.floats:
        if layout.is_left_out(name):
            continue
        shape = checkpoint.float_shape(name)
        if (added := layout.added(name, shape[0] if shape else 0)) > 0:
            floats += HALF_BYTES * added * shape[1]
        wide = len(shape) == 1 or name.endswith((*precise, "correction_bias"))
        wide_bytes = 4 * int(np.prod(shape))
        floats += wide_bytes if wide else float_bytes(checkpoint, name, "float16")
    divisors = {} if layout.rope is None else layout.rope.tensors()
    floats += sum(one.nbytes for one in divisors.values())
    torn = [one for one in source.grids if not layout.holds_rows(f"{one}.weight")]
    floats += sum(HALF_BYTES * source.grids[one].ints.size for one in torn)
    grids = [tensor for one, tensor in source.grids.items() if one not in torn]
    blocks = [(block_kind(tensor), tensor.ints.size) for tensor in grids]
    blocks += [(one.kind, one.size) for one in checkpoint.in_form(GgmlTensor).values()]
    return floats + sum(
        size // BLOCK_KINDS[kind].weights * BLOCK_KINDS[kind].octets for kind, size in blocks
    )


@dataclass(frozen=True)
class GgufTensor:
    """A tensor as gguf-py reads it."""

    kind: str  # of BLOCK_KINDS, F16 or F32
    bytes: int
    data: np.ndarray  # as the file holds it
    values: Callable[[], np.ndarray]  # float32, multiplied out


def read_gguf(path: Path) -> dict[str, GgufTensor]:
    """The tensors of a file; raises `CallFailure` where it is gone or damaged."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    if not path.is_file():
        raise CallFailure("bad_input", f"{path.name} is missing")
    try:
        tensors = GGUFReader(path).tensors
    except (ValueError, IndexError, KeyError, OSError, UnicodeError) as error:
        raise CallFailure("bad_input", f"{path.name} cannot be read: {error}") from error

    def values(one: Any) -> Callable[[], np.ndarray]:
        return lambda: np.asarray(dequantize(one.data, one.tensor_type), dtype=np.float32)

    return {
        one.name: GgufTensor(one.tensor_type.name, int(one.n_bytes), one.data, values(one))
        for one in tensors
    }


def check_gguf(
    directory: Path, source: Source, report: Report, python: str | None = None
) -> dict[str, Any]:
    """check_conversion of a GGUF file. python: the interpreter of llama.cpp's environment; None: it
    is not here"""
    try:
        tensors = read_gguf(directory / FILE)
    except CallFailure as failure:
        return {**NOTHING, "unreadable": failure.message}
    layout = writer_of(NAME, "gguf_layout").GgufLayout(source.config)
    layers: list[dict[str, Any]] = []
    read: dict[str, np.ndarray] = {}
    for done, (layer, tensor) in enumerate(source.grids.items(), start=1):
        name = f"{layer}.weight"
        own = restored(layout, tensors, name, tensor.shape)
        found = tensors.get(layout.names(name)[0])
        kind = block_kind(tensor) if layout.holds_rows(name) else HALF
        layers.append(checked_layer(layer, tensor, kind, found, own))
        if own is not None:
            read[name] = own
        report.progress("check", done, len(source.grids), "layers")
    for layer, blocks in source.checkpoint.in_form(GgmlTensor).items():
        name = f"{layer}.weight"
        own = restored(layout, tensors, name, blocks.shape)
        layers.append(checked_blocks(layer, blocks, tensors, own, layout))
        if own is not None:
            read[name] = own
    others = []
    for name in source.checkpoint.floats:
        if layout.is_left_out(name):
            read[name] = source.checkpoint.floats[name]  # keys say it, or nothing needs it
            continue
        held = source.checkpoint.floats[name]
        own = restored(layout, tensors, name, held.shape)
        if own is None or not same_floats(own, held):
            others.append(name)
        else:
            read[name] = own
    facts = {
        **NOTHING,
        "unreadable": None,
        "other_floats": others,
        "tensor_bytes": sum(one.bytes for one in tensors.values()),
        "formula_bytes": formula_bytes(source),
    }
    if not others and all(row["problem"] is None for row in layers):
        with report.span("open", library=True):
            facts |= opened_facts(
                lambda: opened_gguf(directory),
                lambda: Checkpoint(source.checkpoint.config, (), {}, read),
                source,
                layers,
            )
            if python is not None and (why := why_not_by_transformers(facts)) is not None:
                facts |= {"logits_cosine": None, "read_otherwise": why or None}
                facts |= llama_cpp_facts(python, directory, source, report)
                layers = [{**row, "opened_cosine": None} for row in layers]
    return facts | {"layers": layers}


def why_not_by_transformers(facts: dict[str, Any]) -> str | None:
    """Why transformers' reading proves nothing of a file: empty where it reads none of such a
    model; None: it proves it."""
    if facts["opened_by"] is None:
        return ""
    if facts["not_opened"] is not None:
        return f"transformers fails at it ({facts['not_opened']})"
    alike = facts["logits_cosine"]
    if not alike >= LEAST_COSINE:
        return f"transformers makes another model of it (its logits have a cosine of {alike:.4f})"
    return None


def opened_gguf(directory: Path) -> Opened | None:
    """The model as transformers reads a GGUF file, with the settings that it passes over; None
    where it makes nothing of such a model's, as of most."""
    from pare_backends.models.gguf.file import load_gguf_model
    from pare_backends.models.gguf.reading import open_parts

    path = directory / FILE
    try:
        return Opened(load_gguf_model(path, open_parts(path)), "transformers gguf")
    except Exception:  # whatever it raises: each tensor was compared, and llama.cpp reads the file
        return None


def restored(
    layout: Any, tensors: dict[str, GgufTensor], name: str, shape: tuple[int, ...]
) -> np.ndarray | None:
    """A tensor multiplied out, as the checkpoint holds it, in its shape; None: it is gone, or of
    another shape."""
    if any(own not in tensors for own in layout.names(name)):
        return None
    parts = [one_of(name, tensors[own].values()) for own in layout.names(name)]
    try:
        found = writer_of(NAME, "file_tensors").floats_of(layout, name, shape, parts)
        return np.asarray(found) if found.shape == shape else None
    except (ValueError, IndexError):
        return None


def one_of(name: str, data: np.ndarray) -> np.ndarray:
    """What of a tensor of the file is this one's: of an expert's its own."""
    expert = writer_of(NAME, "gguf_layout").expert_of(name)
    return data if expert < 0 else data[expert]


def checked_layer(
    layer: str,
    tensor: GridTensor,
    kind: str,
    found: GgufTensor | None,
    own: np.ndarray | None,
) -> dict[str, Any]:
    """`ConvertedLayer` of the wire. The source's groups are told: a block repeats their scale.
    kind: what the file has it in"""
    grid = Grid(BLOCK_BITS[block_kind(tensor)], tensor.group_size, tensor.symmetric)
    row: dict[str, Any] = {"layer": layer, "claimed": said(grid), "opened_cosine": None}
    row |= {"found": None, "cosine": None, "problem": None}
    if found is None or own is None:
        return row | {"problem": "it is not in the file in its shape"}
    if found.kind != kind:
        return row | {"found": said(grid), "problem": f"it is {found.kind} in the file"}
    row["found"] = said(grid)
    row["cosine"] = finite_cosine(own, tensor.weight())
    return row


def checked_blocks(
    layer: str,
    tensor: GgmlTensor,
    tensors: dict[str, GgufTensor],
    own: np.ndarray | None,
    layout: Any,
) -> dict[str, Any]:
    """`ConvertedLayer` of the wire, of a layer that is blocks already: the file has its bytes."""
    name = f"{layer}.weight"
    row: dict[str, Any] = {"layer": layer, "claimed": tensor.kind, "opened_cosine": None}
    row |= {"found": None, "cosine": None, "problem": None}
    if own is None:
        return row | {"problem": "it is not in the file in its shape"}
    found = [tensors[one] for one in layout.names(name)]
    row["found"] = kind = found[0].kind
    row["cosine"] = finite_cosine(own, tensor.weight())
    parts = [one_of(name, one.data) for one in found]
    if kind == tensor.kind:
        held = writer_of(NAME, "file_tensors").block_rows(layout, name, kind, parts)
        form = writer_of(NAME, "gguf_blocks")
        wanted = form.multiplied(layer, kind, tensor.blocks, layout.factor(name)).data
        if not np.array_equal(held, wanted):
            row["problem"] = "its blocks are not those of its source"
    return row


def same_floats(own: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether floats are the source's, but for float16's rounding."""
    wide = np.asarray(wanted, dtype=np.float32)
    return own.shape == wide.shape and bool(np.allclose(own, wide, rtol=SAME_FLOATS, atol=1e-7))
