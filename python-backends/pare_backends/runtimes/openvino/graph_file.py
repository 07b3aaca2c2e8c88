"""An artifact as OpenVINO's own two files (IR), graph and weights, and what is read of them again.

Imports `openvino` and numpy alone, but for the tokenizer's graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import openvino
import openvino.opset15 as ops

from pare_backends.failures import CallFailure
from pare_backends.progress import Report
from pare_backends.runtimes.openvino.graph_directory import GRAPH_FILE
from pare_backends.runtimes.openvino.graph_weights import SCALES, ZEROS, build_model
from pare_backends.runtimes.openvino.make import make
from pare_backends.runtimes.stored_weights import ELEMENT_BITS, PackedWeight

WEIGHTS_FILE = "openvino_model.bin"
TOKENIZER_FILES = ("openvino_tokenizer.xml", "openvino_detokenizer.xml")
DECOMPRESSION = ("Convert", "Subtract", "Multiply", "Reshape")
"""Operations between a packed weight's elements and what multiplies by it."""
ROUNDING = ("runtime_options", "DYNAMIC_QUANTIZATION_GROUP_SIZE")
"""Where a graph says how inputs are rounded: by groups of so many, 0 = not at all."""
STRICT = {
    "INFERENCE_PRECISION_HINT": "f32",
    "KV_CACHE_PRECISION": "f32",
    ROUNDING[1]: "0",
}


def write_graph(artifact: Path, output: Path, report: Report) -> None:
    """Exports the artifact's architecture and writes it with its weights."""
    # What the export keeps of its own is of no use to others.
    with TemporaryDirectory(dir=output) as folder:
        make(artifact, Path(folder), False, report)
        save_graph(Path(folder), artifact, output)


def save_graph(graph_dir: Path, artifact: Path, output: Path) -> None:
    """Writes the exported graph with the artifact's weights. It says how its inputs are rounded,
    which OpenVINO would else do by a default of its own."""
    graph = build_model(str(graph_dir), str(artifact), halves=True)
    group = str(graph.activation_group)
    graph.model.set_rt_info(group, list(ROUNDING))
    openvino.save_model(graph.model, output / GRAPH_FILE, compress_to_fp16=False)


def write_tokenizer(tokenizer: Any, output: Path) -> str | None:
    """The tokenizer as graphs, as openvino_genai takes it; returns why not, None: it is written."""
    try:
        from openvino_tokenizers import convert_tokenizer

        simplify_decoder(tokenizer)
        made = convert_tokenizer(tokenizer, with_detokenizer=True)
    except Exception as error:  # whatever it raises of a kind of tokenizer that it does not know
        return f"{type(error).__name__}: {error}"[:300]
    for graph, name in zip(made, TOKENIZER_FILES, strict=True):
        openvino.save_model(graph, output / name)
    return None


def simplify_decoder(tokenizer: Any) -> None:
    """Leaves a byte-level decoder alone in the place of a chain that gives the same of every token:
    tokenizers that were made of a GGUF file have one, which openvino_tokenizers fails at."""
    from tokenizers import decoders

    inner = tokenizer.backend_tokenizer
    chain = inner.decoder
    if not isinstance(chain, decoders.Sequence) or "ByteLevel" not in str(chain):
        return
    places = [[place] for place in range(inner.get_vocab_size())]
    before = inner.decode_batch(places, skip_special_tokens=False)
    inner.decoder = decoders.ByteLevel()
    if inner.decode_batch(places, skip_special_tokens=False) != before:
        inner.decoder = chain


@dataclass(frozen=True)
class GraphFile:
    """A written graph, its constants by their names."""

    model: openvino.Model  # nodes know what takes them only while it is there
    constants: dict[str, Any]  # openvino's Constant nodes

    @property
    def tensor_bytes(self) -> int:
        """Of the weights, without the graph's own constants."""
        return sum(node.get_byte_size() for node in self.constants.values())

    def has(self, name: str) -> bool:
        return name in self.constants

    def packed(self, name: str) -> PackedWeight:
        """A packed weight; raises `CallFailure` where a part is gone."""
        elements, scales = self._named(name), self._named(f"{name}{SCALES}")
        element = str(elements.get_element_type().get_type_name())
        shape = list(elements.get_shape())
        if element not in ELEMENT_BITS:
            raise CallFailure("bad_input", f"{name} is {element} in the graph")
        zeros = None
        if self.has(f"{name}{ZEROS}"):
            node = self._named(f"{name}{ZEROS}")
            kind = str(node.get_element_type().get_type_name())
            zeros = unpacked(node, ELEMENT_BITS[kind]).reshape(shape[0], -1)
        rows, columns = int(shape[0]), int(np.prod(shape[1:]))
        values = np.asarray(scales.get_data(), np.float32).reshape(rows, -1)
        octets = octets_of(elements)
        bits = ELEMENT_BITS[element]
        return PackedWeight(element, octets, rows, columns, values, zeros, bits)

    def floats(self, name: str) -> np.ndarray:
        """A weight of floats, as it lies."""
        return np.asarray(self._named(name).get_data())

    def product(self, name: str, inputs: np.ndarray) -> np.ndarray:
        """What OpenVINO makes of a packed weight times inputs. (n, i) float32; returns: (n, o)"""
        output = self._named(name).output(0)
        while True:
            followed = [one.get_node() for one in output.get_target_inputs()]
            known = [node for node in followed if node.get_type_name() in DECOMPRESSION]
            if not known:
                break
            output = known[0].output(0)
        given = ops.parameter(list(inputs.shape), np.float32)
        model = openvino.Model([ops.matmul(given, output, False, True)], [given])
        compiled = openvino.Core().compile_model(model, "CPU", STRICT)
        return np.asarray(compiled([inputs])[0]).copy()

    def _named(self, name: str) -> Any:
        if name not in self.constants:
            raise CallFailure("bad_input", f"{name} is not in the graph")
        return self.constants[name]


def octets_of(node: Any) -> np.ndarray:
    """A constant's bytes as they lie. returns: (bytes,) uint8"""
    return np.asarray(node.data).view(np.uint8).reshape(-1)


def unpacked(node: Any, bits: int) -> np.ndarray:
    """A constant of unsigned elements, one by one. returns: (n,) uint8"""
    octets = octets_of(node)
    if bits == 8:
        return octets
    pairs = np.stack([octets & np.uint8(15), octets >> np.uint8(4)], axis=1).reshape(-1)
    return pairs[: int(np.prod(node.get_shape()))]


def read_graph(directory: Path) -> GraphFile:
    """The graph as any program reads it; raises `CallFailure` where it is gone or damaged."""
    for name in (GRAPH_FILE, WEIGHTS_FILE):
        if not (directory / name).is_file():
            raise CallFailure("bad_input", f"{name} is missing")
    try:
        model = openvino.Core().read_model(directory / GRAPH_FILE)
    except RuntimeError as error:
        raise CallFailure("bad_input", f"{GRAPH_FILE} cannot be read: {error}"[:500]) from error
    nodes = [node for node in model.get_ops() if node.get_type_name() == "Constant"]
    named = {str(node.get_friendly_name()): node for node in nodes}
    return GraphFile(model, {name: node for name, node in named.items() if of_weight(name)})


def of_weight(name: str) -> bool:
    """Whether a constant is a weight's, or lies beside one: the others are the graph's own."""
    plain = name.removesuffix(SCALES).removesuffix(ZEROS)
    return plain.endswith((".weight", ".bias")) and not plain.startswith("self.")


def rounds_inputs(directory: Path) -> bool:
    """Whether a written graph says that inputs are rounded as it runs."""
    model = openvino.Core().read_model(directory / GRAPH_FILE)
    return model.get_rt_info(list(ROUNDING)).astype(str) != "0"


def open_graph(directory: Path, as_said: bool = True) -> Any:
    """The model as optimum loads it, with the numerics that it is compared with.

    as_said: inputs are rounded as the files say, else not at all
    """
    from optimum.intel import OVModelForCausalLM

    kept = {name: value for name, value in STRICT.items() if not (as_said and name == ROUNDING[1])}
    return OVModelForCausalLM.from_pretrained(
        str(directory), ov_config=kept, local_files_only=True, compile=True
    )
