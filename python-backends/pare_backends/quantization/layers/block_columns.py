"""GPTQ's column loop on llama.cpp's blocks (arXiv 2210.17323, algorithm 1).

llama.cpp's quantizer finds the scales. The integers are chosen column by column, so that the later
columns make up for the error of those before. As all scales are known by then, the columns of the
largest inputs come first. The output head comes last, by what the rounded blocks give it.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import GgmlTensor
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Block, BlockPass, Inputs
from pare_backends.quantization.head import head_statistics, with_lookups
from pare_backends.quantization.layers.block_codes import (
    BITS,
    CodedGrid,
    grid_of,
    has_codes,
    with_codes,
)
from pare_backends.quantization.layers.columns import Moments, moments_of
from pare_backends.quantization.layers.make import DAMPENING, one_torch_thread, second_moments

if TYPE_CHECKING:
    import torch

BLOCK = 64
"""Columns after which the errors of a block reach all later columns, by one product."""
SHRUNK = 1.5
"""What the moments' diagonal is multiplied by, so that the others weigh two thirds: few windows
know them badly (as in Ledoit and Wolf, 2004). With IQ4_NL on the demo's model, 16 windows: KL 0.050
for 0.054 on text like theirs, 0.104 for 0.137 on WikiText-2."""
UNIT = 512
"""Rows that go through the loop together."""


def round_blocks(
    made: Mapping[str, GgmlTensor], model: Any, windows: torch.Tensor, context: Context
) -> dict[str, GgmlTensor]:
    """The linear layers and the head, with integers by the column loop where each weight has one.

    It goes block after block: each meets what the rounded ones before it give. Layers of other
    kinds stay as they are, and the model computes with them. Experts in one tensor are left out.

    model: of plain Linears, whose weights are changed; windows: (windows, tokens) int64
    raises: CallFailure "not_a_number" where the moments of a layer have no inverse
    """
    import torch

    whole = {
        layer: context.layout.modules[layer] for layer in context.layout.linear if layer in made
    }
    found: dict[str, GgmlTensor] = {}

    def change(block: Block, seen: Mapping[str, Inputs]) -> bool:
        known: dict[int, Moments] = {}
        for layer in block.layers:
            inputs, own = seen[layer], made[layer]
            if has_codes(own.kind) and inputs.windows > 0:
                if id(inputs) not in known:
                    known[id(inputs)] = shrunk_moments(inputs.sums.cpu(), layer)
                matrix = model.get_submodule(whole[layer]).weight.detach().float().cpu()
                with one_torch_thread():
                    threads = context.report.threads
                    own = round_columns(matrix, own, known[id(inputs)], threads)
            found[layer] = own
            weight = model.get_submodule(whole[layer]).weight
            weight.data = torch.from_numpy(own.dequantize()).to(weight)
            context.report.progress("columns", len(found), len(whole), "layers")
        return True

    with context.report.span("columns"):
        BlockPass(model, whole, second_moments).run(windows, change)
        found |= rounded_head(made, model, windows, context)
    chosen = sum(bool(np.any(found[layer].blocks != made[layer].blocks)) for layer in found)
    context.notes.append(f"GPTQ chose the integers of {chosen} of {len(made)} matrices")
    return found


def rounded_head(
    made: Mapping[str, GgmlTensor], model: Any, windows: torch.Tensor, context: Context
) -> dict[str, GgmlTensor]:
    """The output head, or the embedding that is one; nothing where it is left as it is.

    At 8 bits it is: there rounding to nearest loses nothing that counts. What a head is given is
    known well enough to be taken as it is: on the demo's model in IQ4_NL, KL 0.066, shrunk 0.067.
    """
    layer = context.layout.head or context.layout.embedding
    own = made.get(layer)
    if own is None or not has_codes(own.kind) or BITS[own.kind] == 8:
        return {}
    statistics = head_statistics(model, windows)
    if statistics is None:
        return {}
    if context.layout.head is None:
        statistics = with_lookups(statistics)
    moments = moments_of(statistics.products, DAMPENING, layer)
    matrix = model.get_output_embeddings().weight.detach().float().cpu()
    with one_torch_thread():
        return {layer: round_columns(matrix, own, moments, context.report.threads)}


def shrunk_moments(sums: torch.Tensor, layer: str) -> Moments:
    """What the loop needs of a layer's inputs. sums: (i, i) float32, X X^T of some windows

    raises: CallFailure "not_a_number" as `moments_of`
    """
    import torch

    return moments_of(sums + torch.diag((SHRUNK - 1) * sums.diagonal()), DAMPENING, layer)


def round_columns(
    weight: torch.Tensor, tensor: GgmlTensor, moments: Moments, threads: int = 1
) -> GgmlTensor:
    """A matrix on the grid of its blocks. weight: (o, i) float32, as the model multiplies by it"""

    def made(start: int) -> np.ndarray:
        rows = slice(start, start + UNIT)
        own = replace(tensor, blocks=tensor.blocks[rows])
        return with_codes(own, codes_of(weight[rows], grid_of(own), moments)).blocks

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(made, range(0, len(weight), UNIT)))
    return replace(tensor, blocks=np.concatenate(parts))


def codes_of(weight: torch.Tensor, grid: CodedGrid, moments: Moments) -> np.ndarray:
    """The loop itself. weight: (o, i) float32; returns: (o, i) uint8"""
    import torch

    order, factor = moments.order, moments.factor
    # A column is a row here: what is done to it is done to neighbouring numbers.
    work = weight.masked_fill(moments.dead, 0.0).T[order].contiguous()
    least = torch.from_numpy(grid.least).T[order].contiguous()
    step = torch.from_numpy(grid.step).T[order].contiguous()
    per = torch.where(step == 0, 0.0, 1 / step)  # of a block of zeros every code is as good
    table = None if grid.table is None else torch.from_numpy(grid.table)
    between = None if table is None else (table[1:] + table[:-1]) / 2
    codes = torch.empty(work.shape, dtype=torch.uint8)
    for start in range(0, len(order), BLOCK):
        end = min(start + BLOCK, len(order))
        block, own = work[start:end], factor[start:end, start:end]
        errors = torch.empty_like(block)
        for i in range(end - start):
            at = start + i
            scaled = (block[i] - least[at]) * per[at]
            if table is None or between is None:
                code = scaled.round_().clamp_(0, grid.codes - 1)
                value = least[at] + step[at] * code
            else:
                code = torch.bucketize(scaled, between)
                value = step[at] * table[code]
            codes[at] = code
            error = torch.sub(block[i], value, out=errors[i]).div_(own[i, i])
            block[i + 1 :].addcmul_(own[i, i + 1 :, None], error[None], value=-1)
        work[end:].addmm_(factor[start:end, end:].T, errors, alpha=-1)
    return codes[order.argsort()].T.contiguous().numpy()
