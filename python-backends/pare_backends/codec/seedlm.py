"""SeedLM (Shafipour et al., arXiv 2410.10714): each block of a row becomes the seed of
pseudo-random numbers and a few coefficients of 4 bits. No calibration data.

The paper's configurations are 16 bits of seed with blocks of 8 weights and 3 coefficients (4 bits a
weight), and with blocks of 12 and 4 (3 bits a weight). Registers of 12 bits are searched five times
as fast. Not the paper's: each matrix is divided by its standard deviation first, which one float32
keeps, as an exponent of 4 bits does not reach down to the weights of a large model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pare_backends.checkpoint import Checkpoint, SeedTensor
from pare_backends.checkpoint.forms.seeds import SeedProfile
from pare_backends.codec.blocks import check_layers, matrix_shape
from pare_backends.codec.finished_layers import FinishedLayers
from pare_backends.codec.seed_search import SeedTable, search, seed_table
from pare_backends.failures import StageFailure
from pare_backends.knobs import choice
from pare_backends.methods.context import Context


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/codec/seedlm.ts."""

    seed_bits: int = choice(12, choices=(8, 10, 12, 14, 16), unit="bits of a seed")
    block_weights: int = choice(8, choices=(4, 6, 8, 12, 16), unit="weights a block")
    coefficients: int = choice(3, choices=(2, 3, 4), unit="coefficients a block")


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Encodes the linear layers, one after another."""
    layers = context.layout.linear
    profile = SeedProfile(params.seed_bits, params.block_weights, params.coefficients)
    check_layers(checkpoint, context, profile.block_weights)
    finished = FinishedLayers(context.work_dir)
    tensors = {}
    table: SeedTable | None = None
    with context.report.span("encode"):
        for done, layer in enumerate(layers, start=1):
            there = finished.find(layer)
            if there is None:
                table = table or seed_table(profile)
                there = encode(layer, context.matrix(checkpoint, layer), table)
                finished.keep(layer, *there)
            parts, figures = there
            tensors[layer] = SeedTensor.of(
                parts["seeds"],
                parts["exponents"],
                parts["coefficients"],
                float(parts["scale"][0]),
                profile,
                matrix_shape(checkpoint, context, layer),
                layer in context.layout.transposed,
            )
            context.figure("relative_error", figures["relative_error"], layer=layer)
            context.report.progress("encode", done, len(layers), "layers")
    return checkpoint.with_stored(tensors)


def encode(
    name: str, weights: np.ndarray, table: SeedTable
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """(seeds, exponents, coefficients and the scale of a matrix, its relative squared error).

    weights: (o, i) float32, of rows that the blocks divide; `name` is for the failure's sentence
    """
    import torch

    if not np.isfinite(weights).all():
        raise StageFailure("not_a_number", f"Cannot encode {name}: its weights are not finite")
    scale = np.float32(weights.std())
    scale = scale if scale > 0 else np.float32(1)
    blocks = torch.from_numpy(weights / scale).reshape(-1, table.profile.block_weights)
    found = search(blocks, table)
    parts = {
        "seeds": found.seeds.numpy(),
        "exponents": found.exponents.numpy().astype(np.int8),
        "coefficients": found.coefficients.numpy().astype(np.int8),
        "scale": np.array([scale], dtype=np.float32),
    }
    whole = float(blocks.double().square().sum())
    error = float(found.errors.double().sum()) / whole if whole > 0 else 0.0
    return parts, {"relative_error": error}
