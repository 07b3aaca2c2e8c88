"""Floats of few bits: FP8 (E4M3) with a scale a row or a matrix, and the OCP microscaling format
MXFP4 and NVIDIA's NVFP4 with a small float for the scale of each block. No calibration data."""

from __future__ import annotations

from dataclasses import dataclass

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import choice
from pare_backends.methods.context import Context
from pare_backends.quantization.layer_checks import check_groups
from pare_backends.quantization.table_codes import round_to_table

BLOCKS = {"mxfp4": 32, "nvfp4": 16}


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/quantization/fp.ts."""

    float_format: str = choice(
        "nvfp4", choices=("nvfp4", "mxfp4", "fp8_e4m3"), unit="format of the numbers"
    )
    fp8_scale: str = choice("per_channel", choices=("per_channel", "per_tensor"), unit="FP8 scales")
    targets: str = choice(
        "linear", choices=("linear", "embedding", "all"), unit="part of the model"
    )


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds every matrix of the chosen part by itself."""
    layers = context.layout.part(params.targets)
    block: int | None = BLOCKS.get(params.float_format, -1)
    check_groups(checkpoint, context.layout, layers, block or -1)
    if params.float_format == "fp8_e4m3" and params.fp8_scale == "per_tensor":
        block = None
    return round_to_table(checkpoint, context, layers, params.float_format, block)
