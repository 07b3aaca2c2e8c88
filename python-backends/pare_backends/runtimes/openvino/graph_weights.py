"""Puts an artifact's own weights into an exported graph: `openvino` and numpy alone.

Integers stay integers: `element → Convert → Subtract zero point → Multiply scale → Reshape`, the
pattern that OpenVINO's CPU plug-in fuses and computes on packed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset15 as ops

from pare_backends.checkpoint.forms.floats import half
from pare_backends.failures import CallFailure
from pare_backends.runtimes.openvino.graph_directory import GRAPH_FILE, read_description
from pare_backends.runtimes.stored_weights import PackedWeight, StoredWeights

HEAD = "lm_head.weight"
SCALES, ZEROS = "/scale", "/zero_point"
"""Endings of the constants beside a packed weight's elements."""
NOT_ARCHITECTURE = frozenset({
    "_name_or_path", "_model_name_or_path", "architectures", "auto_map", "bos_token_id", "dtype",
    "eos_token_id", "initializer_range", "max_position_embeddings", "pad_token_id",
    "pare_stored_forms", "pretraining_tp", "quantization_config", "torch_dtype",
    "transformers_version", "unk_token_id", "use_cache",
})  # fmt: skip
"""Keys of config.json that may differ between the exported model and an artifact."""


@dataclass(frozen=True)
class Graph:
    """A model with an artifact's weights, ready to be compiled."""

    model: openvino.Model
    bytes_read_per_token: int
    activation_group: int  # columns of an input that share a scale, as declared; 0 = none
    notes: tuple[str, ...]
    packed: bool  # whether any weight is held as integers


def build_model(
    graph_dir: str, artifact_dir: str, last_only: bool = False, halves: bool = False
) -> Graph:
    """The exported graph with every weight exchanged for the artifact's own.

    `last_only`: logits of the last position alone, as a generating runtime computes them.
    `halves`: scales and floats in float16, as a file keeps them that is handed on.
    Raises `CallFailure` where the artifact is of another architecture or lacks a weight.
    """
    described = read_description(Path(graph_dir))
    weights = StoredWeights(artifact_dir)
    _check_architecture(described["config"], weights.config, artifact_dir)
    model = openvino.Core().read_model(Path(graph_dir) / GRAPH_FILE)
    parameters = {node.get_friendly_name(): node for node in model.get_parameters()}
    notes: set[str] = set()
    read, group, widest, packed = 0, 0, 0, False
    undeclared: set[str] = set()
    for entry in described["weights"]:
        parameter = parameters[entry["input"]]
        made: dict[str, tuple[openvino.Output, int]] = {}
        for user in list(parameter.output(0).get_target_inputs()):
            gathers = user.get_node().get_type_name() == "Gather"
            name = entry["tensor"] if gathers else _head_or(entry["tensor"], weights)
            if name not in made:
                turned = bool(entry.get("transposed"))
                made[name] = _constant(weights, name, entry["shape"], notes, turned, halves)
            output, size = made[name]
            user.replace_source_output(output)
            read += size // int(entry["shape"][0]) if gathers else size
            packed |= weights.is_packed(name)
            if weights.is_packed(name) and not gathers:
                declared = _input_group(weights, name, int(entry["shape"][1]))
                group, widest = math.gcd(group, declared), max(widest, declared)
                undeclared |= set() if declared else {name.removesuffix(".weight")}
        model.remove_parameter(parameter)
    if last_only:
        _keep_last_position(model)
    model.validate_nodes_and_infer_types()
    if group > 0:
        # OpenVINO quantizes the inputs of all packed weights or of none.
        notes |= {f"inputs of {name} are quantized too, undeclared" for name in undeclared}
    if widest > group:  # one size for all layers: it divides every one that is declared
        notes.add(f"inputs are rounded by groups of {group}, up to {widest} are declared")
    return Graph(model, read, group, tuple(sorted(notes)), packed)


def _check_architecture(graph: dict[str, Any], artifact: dict[str, Any], where: str) -> None:
    for key in sorted((set(graph) & set(artifact)) - NOT_ARCHITECTURE):
        if graph[key] != artifact[key]:
            raise CallFailure(
                "bad_input",
                f"Cannot run {where} in this graph: its {key} is {artifact[key]!r}, "
                f"the graph was exported for {graph[key]!r}",
                "export a graph of this architecture",
            )


def _head_or(tensor: str, weights: StoredWeights) -> str:
    """An artifact may hold an output head of its own where the graph ties it to the embedding."""
    return HEAD if "embed" in tensor and weights.has(HEAD) else tensor


def _input_group(weights: StoredWeights, name: str, columns: int) -> int:
    """Columns of a weight's input that share a scale; 0 where it is not to be quantized."""
    declared = weights.input_group(name)
    return columns if declared == -1 else declared or 0


def _constant(
    weights: StoredWeights,
    name: str,
    shape: list[int],
    notes: set[str],
    transposed: bool,
    halves: bool,
) -> tuple[openvino.Output, int]:
    """A float32 output that holds a weight, and the bytes that reading it costs.

    transposed: floats lie as (in, out) in the file, integers as the graph takes them
    """
    if not weights.has(name):
        raise CallFailure("bad_input", f"Cannot run the artifact: it has no weight {name}")
    if weights.is_packed(name):
        packed = weights.packed(name)
        if [packed.rows, packed.columns] != shape:
            raise _wrong_shape(name, [packed.rows, packed.columns], shape)
        if packed.bits not in (4, 8):
            notes.add(f"{packed.bits}-bit integers run as {packed.element}")
        return packed_constant(packed, name, halves), packed.bytes_read
    values = half(weights.floats(name)) if halves else weights.floats(name)
    if values.size != int(np.prod(shape)):
        raise _wrong_shape(name, list(values.shape), shape)
    values = np.ascontiguousarray(values.T) if transposed else values.reshape(shape)
    if list(values.shape) != shape:
        raise _wrong_shape(name, list(values.shape), shape)
    if (added := weights.added(name)) is not None:
        notes.add("an adapter runs as one matrix with the weights that it lies beside")
        values = values.astype(np.float32) + added
    node = ops.constant(values)
    node.set_friendly_name(name)
    if values.dtype == np.float32:
        return node.output(0), values.nbytes
    # The CPU plug-in widens it when it compiles, so a token reads 4 bytes a value.
    notes.add(f"{values.dtype} weights run as float32")
    return ops.convert(node, np.float32).output(0), values.size * 4


def _wrong_shape(name: str, found: list[int], wanted: list[int]) -> CallFailure:
    return CallFailure(
        "bad_input", f"Cannot run the artifact: {name} has shape {found}, the graph has {wanted}"
    )


def packed_constant(weight: PackedWeight, name: str = "", halves: bool = False) -> openvino.Output:
    """The decompression pattern over a packed weight, its constants named as NNCF names them.

    halves: scales in float16 where that loses nothing; returns: (o, i) float32
    """
    grouped = weight.groups > 1
    width = weight.columns // weight.groups
    tail = [weight.groups, width] if grouped else [weight.columns]
    scale_shape = [weight.rows, weight.groups, 1] if grouped else [weight.rows, 1]
    elements = _typed(weight.data, [weight.rows, *tail], weight.element)
    elements.set_friendly_name(name)
    output = ops.convert(elements, np.float32)
    if weight.zero_points is not None:
        zeros = _typed(_zero_bytes(weight), scale_shape, _zero_element(weight))
        zeros.set_friendly_name(f"{name}{ZEROS}")
        output = ops.subtract(output, ops.convert(zeros, np.float32))
    scales = np.ascontiguousarray(weight.scales.reshape(scale_shape))
    short = scales.astype(np.float16)
    exact = halves and np.array_equal(short.astype(np.float32), scales)
    factors = ops.constant(short if exact else scales)
    factors.set_friendly_name(f"{name}{SCALES}")
    output = ops.multiply(output, ops.convert(factors, np.float32) if exact else factors)
    if grouped:
        shape = ops.constant(np.array([weight.rows, weight.columns], np.int64))
        output = ops.reshape(output, shape, special_zero=False)
    return output.output(0)


def _typed(data: np.ndarray, shape: list[int], element: str) -> openvino.Node:
    kind = getattr(openvino.Type, element)
    if element in ("i8", "u8"):
        typed = data.view(np.int8 if element == "i8" else np.uint8).reshape(shape)
        return ops.constant(typed)
    # A tensor over a numpy array does not keep the array alive: this one owns its bytes.
    tensor = openvino.Tensor(kind, openvino.Shape(shape))
    tensor.data.reshape(-1)[:] = data
    return ops.constant(tensor)


def _zero_element(weight: PackedWeight) -> str:
    return "u4" if weight.element == "u4" else "u8"


def _zero_bytes(weight: PackedWeight) -> np.ndarray:
    """Zero points in the bytes of their element: nibbles beside u4, whole bytes otherwise."""
    assert weight.zero_points is not None
    flat = np.ascontiguousarray(weight.zero_points).reshape(-1)
    if _zero_element(weight) == "u8":
        return flat
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return flat[0::2] | (flat[1::2] << np.uint8(4))


def _keep_last_position(model: openvino.Model) -> None:
    """Cuts the output head's input down to the last position, where the head is found."""
    head = model.output("logits").get_node().input_value(0).get_node()
    if head.get_type_name() == "Convert":
        head = head.input_value(0).get_node()
    if head.get_type_name() != "MatMul":
        return
    last = ops.constant(np.array([-1], np.int64))
    axis = ops.constant(np.int64(1))
    head.input(0).replace_source_output(ops.gather(head.input_value(0), last, axis).output(0))
