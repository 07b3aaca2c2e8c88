"""Compiled graphs: with which numerics, and a short loop over them.

Imports `openvino` and numpy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import openvino

from pare_backends.runtimes.openvino.graph_weights import Graph
from pare_backends.runtimes.openvino.input_rounding import group_in_force
from pare_backends.runtimes.openvino.setting import AS_THE_ARTIFACT, Params
from pare_backends.runtimes.session import Numerics

Inputs = dict[str, np.ndarray]
STRICT = Numerics("f32", "f32", 0)
BITS = {"f32": 32, "f16": 16, "bf16": 16, "u8": 8}
"""Of a number of the cache, by its precision."""


def standard_numerics(graph: Graph, precision: str | None = None) -> Numerics:
    """What speed figures are taken with: strict, but for activations that the artifact declares
    quantized, where this processor rounds any, and for weights that are all floats, which run in
    the precision that is asked for."""
    strict = replace(STRICT, activation_group=group_in_force(graph.activation_group))
    if precision is None or graph.packed:
        return strict
    return replace(strict, inference_precision=precision)


def numerics_of(graph: Graph, params: Params) -> Numerics:
    """What a setting asks for; inputs as the artifact declares them where it does not say."""
    group = params.input_group
    if group == AS_THE_ARTIFACT:
        group = group_in_force(graph.activation_group)
    return Numerics(params.inference_precision, params.kv_precision, group)


def compile_graph(
    graph: Graph, numerics: Numerics, threads: int, pinning: bool | None = None
) -> openvino.CompiledModel:
    """The compiled model; nothing about its numerics is left to OpenVINO's defaults.

    pinning: whether each thread stays on one core; None: as OpenVINO does
    """
    options: dict[str, Any] = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": numerics.inference_precision,
        "KV_CACHE_PRECISION": numerics.kv_precision,
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": numerics.activation_group,
    }
    if pinning is not None:
        options["ENABLE_CPU_PINNING"] = pinning
    return openvino.Core().compile_model(graph.model, "CPU", options)


def read_numerics(compiled: openvino.CompiledModel) -> Numerics:
    """The numerics that the compiled model says it runs with."""
    return Numerics(
        _short(compiled.get_property("INFERENCE_PRECISION_HINT")),
        _short(compiled.get_property("KV_CACHE_PRECISION")),
        int(compiled.get_property("DYNAMIC_QUANTIZATION_GROUP_SIZE")),
    )


def _short(kind: openvino.Type) -> str:
    return str(kind.get_type_name())


def taken_inputs(compiled: openvino.CompiledModel) -> Callable[[Inputs], Inputs]:
    """Leaves out what a graph has no input for: Bloom's knows no positions."""
    names = {name for port in compiled.inputs for name in port.get_names()}
    return lambda given: {name: value for name, value in given.items() if name in names}


class Decoder:
    """A short decode loop over the stateful graph: the KV cache lies inside it."""

    def __init__(self, compiled: openvino.CompiledModel) -> None:
        self._request = compiled.create_infer_request()
        self._takes = taken_inputs(compiled)
        self._beam = np.zeros(1, np.int32)
        self._length = 0

    def reset(self) -> None:
        """Forgets the sequence."""
        self._request.reset_state()
        self._length = 0

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """Appends tokens; their logits, or the last one's alone where the graph was cut so.

        tokens: (n,) int64; returns: (n or 1, vocabulary) float32, valid until the next step
        """
        end = self._length + len(tokens)
        given = {
            "input_ids": tokens[None],
            "attention_mask": np.ones((1, end), np.int64),
            "position_ids": np.arange(self._length, end, dtype=np.int64)[None],
            "beam_idx": self._beam,
        }
        self._request.infer(self._takes(given), share_inputs=True)
        self._length = end
        return np.asarray(self._request.get_tensor("logits").data[0])

    def append(self, tokens: np.ndarray, wanted: int) -> np.ndarray:
        """Appends tokens to a graph that was not cut to the last; the logits of the last `wanted`.

        tokens: (n,) int64; returns: (wanted, vocabulary) float32
        """
        return self.step(tokens)[-wanted:].copy()

    def state_bytes(self, precision: str) -> int:
        """What the keys and values so far take in a precision; of integers without their scales."""
        numbers = sum(int(np.prod(one.state.shape)) for one in self._request.query_state())
        return numbers * BITS[precision] // 8


def logits(compiled: openvino.CompiledModel, tokens: np.ndarray) -> np.ndarray:
    """Logits of every position in one pass, of a graph that was not cut to the last.

    tokens: (n,) int64; returns: (n, vocabulary) float32
    """
    return Decoder(compiled).step(tokens).copy()
