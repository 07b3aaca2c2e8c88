"""The nearest numbers of a table, block by block: the arithmetic under `nf4` and `fp`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pare_backends.checkpoint import Checkpoint, TableTensor
from pare_backends.checkpoint.forms.number_tables import (
    E2M1_LARGEST,
    E4M3_LARGEST,
    nearest_codes,
)
from pare_backends.checkpoint.forms.table import (
    SCALE_BLOCK,
    BlockScales,
    TableFormat,
    format_named,
)
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.quantization.layer_checks import check_layers

CHUNK_WEIGHTS = 1 << 20
"""Looked up at a time; a multiple of every block that is not a whole row or matrix."""


def round_to_table(
    checkpoint: Checkpoint, context: Context, layers: Sequence[str], name: str, block: int | None
) -> Checkpoint:
    """Rounds every one of these matrices by itself.

    name: of the format; block: weights that share a scale, -1 = a row, None: the whole matrix
    raises: CallFailure where a layer is quantized already, or not finite
    """
    check_layers(checkpoint, context.layout, layers, -1)
    tensors = {}
    with context.report.span("quantize"):
        for done, layer in enumerate(layers, start=1):
            weights = context.matrix(checkpoint, layer)
            width = weights.size if block is None else weights.shape[1] if block == -1 else block
            turned = layer in context.layout.transposed
            tensors[layer] = encoded(layer, weights, format_named(name), width, turned)
            context.report.progress("round", done, len(layers), "layers")
    return checkpoint.with_stored(tensors)


def encoded(
    name: str, weights: np.ndarray, form: TableFormat, block: int, transposed: bool = False
) -> TableTensor:
    """The matrix in this format; a last block that is not full counts as filled with zeros.

    name: for the failure's sentence; weights: (out, in) float32
    """
    if not np.isfinite(weights).all():
        raise CallFailure("not_a_number", f"Cannot quantize {name}: its weights are not finite")
    flat = np.asarray(weights, dtype=np.float32).reshape(-1)
    if flat.size % block:
        flat = np.concatenate([flat, np.zeros(-flat.size % block, np.float32)])
    blocks = flat.reshape(-1, block)
    largest = np.abs(blocks).max(axis=1)
    scales, divisors = block_scales(form, largest)
    codes = np.empty(flat.size, np.uint8)
    step = max(1, CHUNK_WEIGHTS // block)
    for start in range(0, len(blocks), step):
        shares = scaled(form, blocks[start : start + step], divisors[start : start + step])
        coded = nearest_codes(form.numbers, shares).reshape(-1)
        codes[start * block : start * block + coded.size] = coded
    held = packed(codes[: weights.size]) if form.bits == 4 else codes[: weights.size]
    out, into = weights.shape
    return TableTensor(held, scales, form, block, (out, into), transposed)


def packed(codes: np.ndarray) -> np.ndarray:
    """Two codes a byte, the first one high. codes: (n,) uint8; returns: (ceil(n / 2),) uint8"""
    even = np.append(codes, np.zeros(codes.size % 2, np.uint8))
    joined: np.ndarray = (even[0::2] << 4) | even[1::2]
    return joined


def scaled(form: TableFormat, blocks: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    """What is looked up in the table. blocks: (n, block); divisors: (n,); returns: like blocks"""
    used = np.where(divisors == 0, np.float32(1), divisors)[:, None]
    if form.numbers in ("nf4", "fp4"):  # bitsandbytes multiplies by the inverse and clamps
        with np.errstate(over="ignore", invalid="ignore"):
            shares = np.clip(blocks * (np.float32(1) / used), -1, 1)
        return np.nan_to_num(shares, nan=0.0)
    shares = blocks / used
    return np.where(divisors[:, None] == 0, np.float32(0), shares)


def block_scales(form: TableFormat, largest: np.ndarray) -> tuple[BlockScales, np.ndarray]:
    """(the scales as stored, what weights are divided by before the look-up).

    largest: (blocks,) float32, each block's largest absolute weight
    """
    none = np.zeros(0, np.float32)
    if form.scales == "e8m0":
        # OCP MX 1.0, 6.3: the power of two of the largest weight, over that of the largest number.
        _, exponent = np.frexp(np.where(largest == 0, np.float32(1), largest))
        shared = np.clip(exponent - 1 - 2, -127, 127)
        scales = BlockScales((shared + 127).astype(np.uint8), none)
        return scales, scales.values(form.scales)
    if form.scales == "e4m3":
        # The largest of the matrix has the largest scale; float32's least normal number keeps the
        # quotient finite where all weights are next to nothing.
        whole = max(float(largest.max()) / (E2M1_LARGEST * E4M3_LARGEST), 2.0**-126)
        shares = (largest / np.float32(E2M1_LARGEST)) / np.float32(whole)
        codes = nearest_codes("e4m3", shares.astype(np.float32))
        scales = BlockScales(codes, np.array([whole], np.float32))
        return scales, scales.values(form.scales)
    if form.scales == "dynamic":
        return doubly_quantized(largest), largest
    reach = np.float32(E4M3_LARGEST if form.numbers == "e4m3" else 1)
    divisors = (largest / reach).astype(np.float32)
    return BlockScales(divisors, none), divisors


def doubly_quantized(largest: np.ndarray) -> BlockScales:
    """The scales less their mean, in 8 bits by blocks of 256, as QLoRA has it; the weights were
    looked up by the scales as they were."""
    mean = np.float32(largest.mean())
    padding = -largest.size % SCALE_BLOCK
    off = np.concatenate([largest - mean, np.zeros(padding, np.float32)]).reshape(-1, SCALE_BLOCK)
    widest = np.abs(off).max(axis=1)
    used = np.where(widest == 0, np.float32(1), widest)[:, None]
    codes = nearest_codes("dynamic", np.clip(off * (np.float32(1) / used), -1, 1))
    of_scales = np.concatenate([[mean], widest]).astype(np.float32)
    return BlockScales(codes.reshape(-1)[: largest.size], of_scales)
