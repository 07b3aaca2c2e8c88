"""A trial as an OpenVINO folder: graph and weights (IR), whose integers stay integers and are
multiplied out by their scales as OpenVINO's own compression (NNCF) writes it, the tokenizer as a
graph too, and what else belongs beside it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint, GridTensor
from pare_backends.checkpoint.forms.floats import half
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.conversion.check import NOTHING, PROBES, finite_cosine, opened_facts, said
from pare_backends.conversion.files_format import Grid, Opened, Source, beside_refusal, grid_of
from pare_backends.conversion.write import float_bytes, plain_config, write_json
from pare_backends.failures import CallFailure
from pare_backends.progress import Report
from pare_backends.runtimes.registry import writer_of

NAME = "openvino"
HOLDS = "packed integers"
OPENED_BY = "optimum-intel openvino"


def refusal(source: Source) -> str | None:
    """Why it cannot hold the artifact, as the end of a sentence; None: it can."""
    grids = source.grids
    why = beside_refusal(source, grids, HOLDS)  # floats alone are a graph too
    if why is not None:
        return why
    for layer, tensor in grids.items():
        if layer in source.layout.experts:
            return f"{layer} is an expert's, which its graph holds in one stack"
        if tensor.activation_scale is not None:
            return f"{layer} has inputs of a fixed range, which its graph cannot say"
    return None


def convert_openvino(source: Source, output: Path, report: Report) -> int:
    """Writes the folder.

    returns: bytes of its weights by the formula
    """
    why = refusal(source)
    if why is not None:
        raise CallFailure("invalid", f"Cannot write an OpenVINO folder: {why}")
    output.mkdir(parents=True, exist_ok=True)
    graph_file = writer_of(NAME, "graph_file")
    graph_file.write_graph(source.directory, output, report)
    # openvino_genai alone needs it: where it cannot be made, optimum takes the other files.
    graph_file.write_tokenizer(load_tokenizer(source.directory), output)
    for companion in source.checkpoint.files:
        shutil.copyfile(companion, output / companion.name)
    write_json(output / "config.json", plain_config(source))
    return formula_bytes(source)


def lacking(output: Path) -> list[str]:
    """What a written folder has not, in words."""
    if (output / "openvino_tokenizer.xml").is_file():
        return []
    return [
        "openvino_tokenizers makes no graph of this tokenizer: optimum-intel loads the folder,"
        " openvino_genai does not"
    ]


def element_bits(tensor: GridTensor) -> int:
    """OpenVINO multiplies by elements of 4 and of 8 bits."""
    return 4 if tensor.bits <= 4 else 8


def formula_bytes(source: Source) -> int:
    """Elements, scales and zero points of packed layers; float16 of everything else."""
    return float_bytes(source, "float16") + sum(layer_bytes(one) for one in source.grids.values())


def layer_bytes(tensor: GridTensor) -> int:
    bits = element_bits(tensor)
    exact = np.array_equal(tensor.scales.astype(np.float16).astype(np.float32), tensor.scales)
    scales = tensor.scales.size * (2 if exact else 4)
    zeros = 0 if tensor.zero_points is None else -(-tensor.scales.size * bits // 8)
    return -(-tensor.ints.size * bits // 8) + scales + zeros


def check_openvino(directory: Path, source: Source, report: Report) -> dict[str, Any]:
    """check_conversion of an OpenVINO folder."""
    facts, read = graph_facts(directory, source, report)
    layers = facts["layers"]
    sound = facts["unreadable"] is None and not facts["other_floats"]
    if sound and all(row["problem"] is None for row in layers):
        graph_file = writer_of(NAME, "graph_file")
        with report.span("open", library=True):
            facts |= opened_facts(
                lambda: opened(directory, graph_file),
                lambda: Checkpoint(source.checkpoint.config, (), {}, read),
                source,
                layers,
            )
    return facts


def opened(directory: Path, graph_file: Any) -> Opened:
    """The folder as optimum loads it."""
    model = graph_file.open_graph(directory)
    if not graph_file.rounds_inputs(directory):
        return Opened(model, OPENED_BY)
    return Opened(model, OPENED_BY, lambda: graph_file.open_graph(directory, as_said=False))


def graph_facts(
    directory: Path, source: Source, report: Report
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(what OpenVINO alone reads of the two files, their weights multiplied out by name)."""
    try:
        graph = writer_of(NAME, "graph_file").read_graph(directory)
    except CallFailure as failure:
        return {**NOTHING, "unreadable": failure.message}, {}
    layers: list[dict[str, Any]] = []
    read: dict[str, np.ndarray] = {}
    for done, (layer, tensor) in enumerate(source.grids.items(), start=1):
        row, weights = checked_layer(graph, layer, tensor)
        layers.append(row)
        if weights is not None:
            read[f"{layer}.weight"] = weights.T if tensor.transposed else weights
        report.progress("check", done, len(source.grids), "layers")
    others = []
    for name in source.checkpoint.floats:
        read[name] = source.checkpoint.floats[name]
        if runs(source, name) and not same_floats(graph, name, read[name]):
            others.append(name)
    facts = {
        **NOTHING,
        "unreadable": None,
        "layers": layers,
        "other_floats": others,
        "tensor_bytes": graph.tensor_bytes,
        "formula_bytes": formula_bytes(source),
    }
    return facts, read


def runs(source: Source, name: str) -> bool:
    """Whether a tensor of the files is a parameter of the model: it may be a buffer, or the
    embedding a second time."""
    layout = source.layout
    return name in layout.roles and name != f"{layout.head_copy}.weight"


def same_floats(graph: Any, name: str, wanted: np.ndarray) -> bool:
    """Whether the graph holds the source's floats, whichever way a matrix lies."""
    if not graph.has(name):
        return False
    own, kept = graph.floats(name), half(wanted)
    # A norm's vector has the axes of what it multiplies.
    if own.size == kept.size and np.array_equal(own.reshape(-1), kept.reshape(-1)):
        return True
    return kept.ndim == 2 and np.array_equal(own, kept.T)


def checked_layer(
    graph: Any, layer: str, tensor: GridTensor
) -> tuple[dict[str, Any], np.ndarray | None]:
    """`ConvertedLayer` of the wire, and the weights (out, in) that the graph holds."""
    grid = grid_of(tensor)
    claimed = said(Grid(element_bits(tensor), grid.group_size, grid.symmetric))
    row: dict[str, Any] = {"layer": layer, "claimed": claimed, "found": None}
    row |= {"cosine": None, "opened_cosine": None, "problem": None}
    name = f"{layer}.weight"
    try:
        held = graph.packed(name)
    except CallFailure as failure:
        return row | {"problem": failure.message}, None
    size = grid.group_size if held.groups > 1 else -1
    symmetric = held.zero_points is None
    row["found"] = said(Grid(int(held.element[1:]), size, symmetric))
    if (held.rows, held.columns) != tensor.ints.shape or held.groups != tensor.scales.shape[1]:
        return row | {"problem": "its shape or its groups are not those of its source"}, None
    # Unsigned elements, and their zero points, are raised by half the range of the source's bits.
    raised = 0 if held.element.startswith("i") else 1 << (tensor.bits - 1)
    zeros = 0 if tensor.zero_points is None else tensor.zero_points.astype(np.int32)
    own = 0 if held.zero_points is None else held.zero_points.astype(np.int32) - raised
    parts = {
        "integers": np.array_equal(held.integers() - raised, tensor.ints),
        "zero points": np.array_equal(own, zeros),
        "scales": np.array_equal(held.scales, tensor.scales.astype(np.float32)),
    }
    other = [part for part, same in parts.items() if not same]
    if other:
        row["problem"] = f"its {' and '.join(other)} are not those of its source"
    weights, wanted = held.dequantize(), tensor.dequantize()
    row["cosine"] = finite_cosine(weights, wanted)
    inputs = np.random.default_rng(0).normal(size=(PROBES, held.columns)).astype(np.float32)
    row["opened_cosine"] = finite_cosine(graph.product(name, inputs), inputs @ wanted.T)
    return row, weights
