"""NF4 and FP4 (Dettmers et al. 2023, arXiv 2305.14314): four bits a weight, the codes of a fixed
table, as bitsandbytes' quantize_4bit chooses them. No calibration data."""

from __future__ import annotations

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.quantization.table_codes import round_to_table


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/nf4.ts declares them."""

    quant_type: str
    block_size: int
    double_quant: bool
    targets: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Rounds every matrix of the chosen part by itself."""
    name = f"{params.quant_type}_double" if params.double_quant else params.quant_type
    layers = context.layout.part(params.targets)
    return round_to_table(checkpoint, context, layers, name, params.block_size)
