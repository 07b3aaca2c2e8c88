"""NF4 and FP4 (Dettmers et al. 2023, arXiv 2305.14314): four bits a weight, the codes of a fixed
table, as bitsandbytes' quantize_4bit chooses them. No calibration data."""

from __future__ import annotations

from dataclasses import dataclass

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import choice, flag
from pare_backends.methods.context import Context
from pare_backends.quantization.table_codes import round_to_table


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/quantization/nf4.ts."""

    quant_type: str = choice("nf4", choices=("nf4", "fp4"), unit="table of numbers")
    block_size: int = choice(64, choices=(64, 128, 256), unit="weights a scale")
    double_quant: bool = flag(False)
    targets: str = choice(
        "linear", choices=("linear", "embedding", "all"), unit="part of the model"
    )


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds every matrix of the chosen part by itself."""
    name = f"{params.quant_type}_double" if params.double_quant else params.quant_type
    layers = context.layout.part(params.targets)
    return round_to_table(checkpoint, context, layers, name, params.block_size)
