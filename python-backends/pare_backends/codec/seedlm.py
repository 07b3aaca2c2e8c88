"""SeedLM (Shafipour et al., arXiv 2410.10714): each block of a row becomes the seed of
pseudo-random numbers and a few coefficients of 4 bits. No calibration data.

The paper's configurations are 16 bits of seed with blocks of 8 weights and 3 coefficients (4 bits a
weight), and with blocks of 12 and 4 (3 bits a weight). Registers of 12 bits are searched five times
as fast. Not the paper's: each matrix is divided by its standard deviation first, which one float32
keeps, as an exponent of 4 bits does not reach down to the weights of a large model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pare_backends.checkpoint import Checkpoint, SeedTensor
from pare_backends.checkpoint.forms.seeds import SeedProfile
from pare_backends.codec.blocks import check_layers, matrix_shape
from pare_backends.codec.finished_layers import FinishedLayers
from pare_backends.codec.seed_search import SeedTable, search, seed_table
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context

if TYPE_CHECKING:
    import torch

PART_BLOCKS = 1 << 17
"""Blocks of a matrix that are searched before what was found is kept: seconds with 12 bits of seed,
a minute with 16."""


@declared_knobs
class Params:
    """Knobs, as plugins/codec/seedlm.ts declares them."""

    seed_bits: int
    block_weights: int
    coefficients: int
    exponent_rule: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Encodes the linear layers, one after another."""
    layers = context.layout.linear
    profile = SeedProfile(params.seed_bits, params.block_weights, params.coefficients)
    check_layers(checkpoint, context, profile.block_weights)
    finished = FinishedLayers(context.work_dir)

    def told(part: int, parts: int) -> None:
        if parts > 1:  # of a small layer there is nothing to tell
            context.report.progress("encode one layer", part, parts, "parts")

    tensors = {}
    table: SeedTable | None = None
    with context.report.span("encode"):
        for done, layer in enumerate(layers, start=1):
            there = finished.find(layer)
            if there is None:
                table = table or seed_table(profile, params.exponent_rule)
                there = encode(
                    layer,
                    context.matrix(checkpoint, layer),
                    table,
                    finished,
                    told,
                )
                finished.keep(layer, *there)
                finished.drop_parts(layer)
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
    name: str,
    weights: np.ndarray,
    table: SeedTable,
    finished: FinishedLayers | None = None,
    told: Callable[[int, int], None] = lambda part, parts: None,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """(seeds, exponents, coefficients and the scale of a matrix, its relative squared error).

    weights: (o, i) float32, of rows that the blocks divide; `name` is for the failure's sentence
    finished: keeps the parts of a large matrix, and has those of a run that was killed
    told: is given how many parts are done, and of how many
    """
    import torch

    if not np.isfinite(weights).all():
        raise CallFailure("not_a_number", f"Cannot encode {name}: its weights are not finite")
    scale = np.float32(weights.std())
    scale = scale if scale > 0 else np.float32(1)
    blocks = torch.from_numpy(weights / scale).reshape(-1, table.profile.block_weights)
    kept = finished or FinishedLayers(None)
    cut = blocks.split(PART_BLOCKS)
    found = []
    for part, some in enumerate(cut):
        there = kept.find_part(name, part) if len(cut) > 1 else None
        if there is None:
            there = searched(some, table)
            if len(cut) > 1:
                kept.keep_part(name, part, *there)
        found.append(there)
        told(part + 1, len(cut))
    parts = {key: np.concatenate([one[key] for one, _ in found]) for key in found[0][0]}
    whole = float(blocks.double().square().sum())
    off = sum(figures["squared_error"] for _, figures in found)
    parts["scale"] = np.array([scale], dtype=np.float32)
    return parts, {"relative_error": off / whole if whole > 0 else 0.0}


def searched(
    blocks: torch.Tensor, table: SeedTable
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """(seeds, exponents and coefficients of blocks, their squared error). blocks: (b, C) float32"""
    found = search(blocks, table)
    codes = {
        "seeds": found.seeds.numpy(),
        "exponents": found.exponents.numpy().astype(np.int8),
        "coefficients": found.coefficients.numpy().astype(np.int8),
    }
    return codes, {"squared_error": float(found.errors.double().sum())}
