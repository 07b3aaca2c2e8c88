"""Wanda (Sun et al. 2023, arXiv 2306.11695): of each row the weights go that are smallest times the
norm of the input they meet, |w| · ||x||; nothing is trained or made up for. llm-compressor's
arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import Checkpoint
from pare_backends.knobs import choice, integer, real
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Inputs
from pare_backends.pruning.calibrated import LAYER_SPARSITY, Rule, prune, row_norms
from pare_backends.pruning.unstructured import PATTERNS, STORED_AS

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/pruning/wanda.ts."""

    sparsity: float = real(0.5, minimum=0.1, maximum=0.7, unit="share of the weights that is zero")
    pattern: str = choice(
        "unstructured", choices=("unstructured", *PATTERNS), unit="where zeros may lie"
    )
    layer_sparsity: str = choice("uniform", choices=LAYER_SPARSITY, unit="how the share is spread")
    samples: int = integer(16, minimum=1, maximum=512, unit="calibration windows")
    tokens: int = integer(256, minimum=16, maximum=4096, unit="tokens of a window")
    stored_as: str = choice("bitmask", choices=STORED_AS, unit="how weights are stored")


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
