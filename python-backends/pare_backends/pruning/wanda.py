"""Wanda (Sun et al. 2023, arXiv 2306.11695): of each row the weights go that are smallest times the
norm of the input they meet, |w| · ||x||; nothing is trained or made up for. llm-compressor's
arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Inputs
from pare_backends.pruning.calibrated import Rule, prune, row_norms

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params:
    """Knobs, as plugins/pruning/wanda.ts declares them."""

    sparsity: float
    pattern: str
    layer_sparsity: str
    samples: int
    tokens: int
    stored_as: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Prunes the linear layers, block after block, on the calibration windows."""
    return prune(checkpoint, params, context, Rule(row_norms, sparsify))


def sparsify(
    layer: str, module: Any, inputs: Inputs, share: float, zeros: tuple[int, int]
) -> torch.Tensor:
    """The weight with as many zeros in each row. returns: (out, in)"""
    from llmcompressor.modifiers.pruning.wanda import wanda_sparsify as library

    columns = int(module.weight.shape[1])
    # The library cuts the count of zeros off: given so, it is the nearest.
    nearest = (round(share * columns) + 0.5) / columns
    made: torch.Tensor = library.sparsify_weight(
        module, {module: inputs.sums}, nearest, prune_n=zeros[0], prune_m=zeros[1]
    )
    return made
