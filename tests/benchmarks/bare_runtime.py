"""Generation in OpenVINO with a model's own integers: the runtime half of bare_study.py.

Letters: o rows, i columns, g groups a row.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class Packed:
    """weight = (ints − zeros) · scales."""

    ints: np.ndarray  # (o, i) int8
    scales: np.ndarray  # (o, g) float32
    zeros: np.ndarray | None  # (o, g) in the signed range; None = 0
    bits: int
    activations: bool  # the layer's inputs are rounded to 8 bits too


def constant(layer: Packed) -> Any:
    """The weight as a constant of integers with its decompression. returns: (o, i) float32"""
    import openvino
    import openvino.opset15 as ops

    rows, columns = layer.ints.shape
    groups = layer.scales.shape[1]
    wide = 4 if layer.bits <= 4 else 8
    shape = [rows, groups, columns // groups]
    raised = 0 if layer.zeros is None else 2 ** (layer.bits - 1)
    kind = getattr(openvino.Type, f"{'i' if layer.zeros is None else 'u'}{wide}")
    octets = (layer.ints.astype(np.int16) + raised).astype(np.uint8).reshape(-1)
    tensor = openvino.Tensor(kind, openvino.Shape(shape))
    if wide == 4:
        octets = (octets[0::2] & 15) | (octets[1::2] << np.uint8(4))
    tensor.data.reshape(-1)[:] = octets if wide == 4 else octets.view(tensor.data.dtype)
    output = ops.convert(ops.constant(tensor), np.float32)
    if layer.zeros is not None:
        zeros = (layer.zeros + raised).astype(np.uint8).reshape(rows, groups, 1)
        output = ops.subtract(output, ops.convert(ops.constant(zeros), np.float32))
    scales = np.ascontiguousarray(layer.scales.reshape(rows, groups, 1))
    output = ops.multiply(output, ops.constant(scales))
    whole = ops.constant(np.array([rows, columns], np.int64))
    return ops.reshape(output, whole, special_zero=False).output(0)


class Generator:
    """Times generation of a model in turn with the baseline, which is compiled once."""

    def __init__(
        self, request: dict[str, Any], timed: Callable[[str], AbstractContextManager[None]]
    ) -> None:
        self._request = request
        self._timed = timed
        self._baseline: Any = None
        self._folder = Path(request["graph_dir"])
        self._entries = json.loads((self._folder / "weights.json").read_text())["weights"]

    def latency_ms(self, model: Any, packed: dict[str, Packed], in_turn: bool) -> float:
        """Median milliseconds of a generated token."""
        with self._timed("compile"):
            own = self._compile(model, packed)
        if not in_turn:
            self._baseline = own
        requests = [own, self._baseline] if in_turn else [own]
        prompt = np.random.default_rng(self._request["seed"]).integers(
            0, model.config.vocab_size, self._request["prompt_tokens"], dtype=np.int64
        )
        with self._timed("warm-up"):
            for request in requests:
                self._pass(request, prompt, WARM_UP_TOKENS)
        with self._timed("speed"):
            passes = [
                [self._pass(request, prompt, self._request["new_tokens"]) for request in requests]
                for _ in range(self._request["least_passes"])
            ]
        return statistics.median(own for own, *_ in passes)

    def _compile(self, model: Any, packed: dict[str, Packed]) -> Any:
        import openvino
        import openvino.opset15 as ops

        state = {name: p.detach().numpy() for name, p in model.named_parameters()}
        core = openvino.Core()
        graph = core.read_model(self._folder / "openvino_model.xml")
        inputs = {node.get_friendly_name(): node for node in graph.get_parameters()}
        group = 0
        for entry in self._entries:
            layer = packed.get(entry["tensor"].removesuffix(".weight"))
            parameter = inputs[entry["input"]]
            if layer is None:
                values = state[entry["tensor"]].reshape(entry["shape"])
                output = ops.constant(values).output(0)
            else:
                output = constant(layer)
                group = math.gcd(group, entry["shape"][1]) if layer.activations else group
            for user in list(parameter.output(0).get_target_inputs()):
                user.replace_source_output(output)
            graph.remove_parameter(parameter)
        graph.validate_nodes_and_infer_types()
        options = {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": self._request["threads"],
            "INFERENCE_PRECISION_HINT": "f32",
            "KV_CACHE_PRECISION": "f32",
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": group,
        }
        return core.compile_model(graph, "CPU", options).create_infer_request()

    def _pass(self, request: Any, prompt: np.ndarray, tokens: int) -> float:
        """Milliseconds per token of one prompt's greedy continuation."""
        request.reset_state()
        token = self._step(request, prompt, 0)
        started = time.perf_counter()
        for number in range(tokens):
            token = self._step(request, np.array([token], np.int64), len(prompt) + number)
        return (time.perf_counter() - started) / tokens * 1000

    def _step(self, request: Any, tokens: np.ndarray, before: int) -> int:
        end = before + len(tokens)
        request.infer(
            {
                "input_ids": tokens[None],
                "attention_mask": np.ones((1, end), np.int64),
                "position_ids": np.arange(before, end, dtype=np.int64)[None],
                "beam_idx": np.zeros(1, np.int32),
            },
            share_inputs=True,
        )
        return int(request.get_tensor("logits").data[0, -1].argmax())
