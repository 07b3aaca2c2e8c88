"""Whether OpenVINO rounds the inputs of packed weights on this processor.

It takes `DYNAMIC_QUANTIZATION_GROUP_SIZE` on every one and says it back. Where the processor has no
instructions for it (x86 without VNNI, seen on an EPYC with AVX2) it computes in floats.
"""

from __future__ import annotations

import functools

import numpy as np
import openvino
import openvino.opset15 as ops

from pare_backends.runtimes.openvino.graph_weights import packed_constant
from pare_backends.runtimes.stored_weights import PackedWeight

ROWS, COLUMNS = 48, 64
SMALL = 0.003
"""Below half a step of 127 under a largest input of 1: rounded, it is nothing."""


@functools.cache
def rounds_inputs() -> bool:
    """By a product of its own, of inputs that rounding would make nothing."""
    ones = np.ones((ROWS, COLUMNS), np.int8)
    scales = np.ones((ROWS, 1), np.float32)
    weight = PackedWeight("i8", ones.view(np.uint8).reshape(-1), ROWS, COLUMNS, scales, None, 8)
    parameter = ops.parameter([1, -1, COLUMNS], np.float32)
    product = ops.matmul(parameter, packed_constant(weight), False, True)
    options = {
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": COLUMNS,
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": 1,
    }
    model = openvino.Model([product], [parameter])
    inputs = np.full((1, 1, COLUMNS), SMALL, np.float32)
    inputs[0, 0, 0] = 1
    found = openvino.Core().compile_model(model, "CPU", options)([inputs])[0]
    return bool(float(found[0, 0, 0]) < 1 + SMALL * (COLUMNS - 1) / 2)


def group_in_force(declared: int) -> int:
    """Inputs that share a scale, as they are rounded here; 0: none is. declared: 0: none is"""
    return declared if declared == 0 or rounds_inputs() else 0


def notes_in_force(declared: int, notes: tuple[str, ...]) -> tuple[str, ...]:
    """What is said of a graph, with what this processor makes of its inputs."""
    if group_in_force(declared) == declared:
        return notes
    others = tuple(note for note in notes if not note.startswith("inputs "))
    return (*others, "inputs stay floats: OpenVINO rounds none on this processor")
