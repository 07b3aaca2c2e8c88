"""Floats of few bits: FP8 (E4M3) with a scale a row or a matrix, and the OCP microscaling format
MXFP4 and NVIDIA's NVFP4 with a small float for the scale of each block. No calibration data."""

from __future__ import annotations

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.layer_checks import check_groups
from pare_backends.quantization.table_codes import round_to_table

BLOCKS = {"mxfp4": 32, "nvfp4": 16}


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/fp.ts declares them."""

    float_format: str
    fp8_scale: str
    targets: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds every matrix of the chosen part by itself."""
    layers = context.layout.part(params.targets)
    block: int | None = BLOCKS.get(params.float_format, -1)
    check_groups(checkpoint, context.layout, layers, block or -1)
    if params.float_format == "fp8_e4m3" and params.fp8_scale == "per_tensor":
        block = None
    return round_to_table(checkpoint, context, layers, params.float_format, block)
