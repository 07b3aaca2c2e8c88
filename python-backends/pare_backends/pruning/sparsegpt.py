"""SparseGPT (Frantar and Alistarh 2023, arXiv 2301.00774): weights go column by column, those that
cost the outputs least by the second moments of the inputs, and later columns make up for the error.
llm-compressor's arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Inputs
from pare_backends.pruning.calibrated import Rule, prune
from pare_backends.pruning.unstructured import ZEROS_OF_PRUNING

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params:
    """Knobs, as plugins/pruning/sparsegpt.ts declares them."""

    sparsity: float
    pattern: str
    layer_sparsity: str
    samples: int
    tokens: int
    stored_as: str
    block_size: int
    dampening: float


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Prunes the linear layers, block after block, on the calibration windows."""
    rule = Rule(second_moments, partial(sparsify, params))
    return prune(checkpoint, params, context, rule)


def second_moments(module: Any, values: torch.Tensor, sums: Any, windows: int) -> tuple[Any, int]:
    """X X^T of the inputs, a window's mean, twice. returns: ((in, in) float32, windows)"""
    from llmcompressor.modifiers.pruning.sparsegpt import sgpt_sparsify as library

    so_far = library.make_empty_hessian(module) if sums is None else sums
    added: tuple[Any, int] = library.accumulate_hessian(values, module, so_far, windows)
    return added


def sparsify(
    params: Params, layer: str, module: Any, inputs: Inputs, share: float, zeros: tuple[int, int]
) -> torch.Tensor:
    """The weight with the share of zeros in every `block_size` columns, those that an earlier step
    has made among them. returns: (out, in)"""
    from llmcompressor.modifiers.pruning.sparsegpt import sgpt_sparsify as library

    there = float((module.weight == 0).float().mean())
    pruned = there >= ZEROS_OF_PRUNING
    with inverted(layer):
        _, made = library.sparsify_weight(
            module,
            {module: inputs.sums.clone()},  # it inverts them in place, and layers share them
            max(share, there) if pruned else share,
            prune_n=zeros[0],
            prune_m=zeros[1],
            block_size=params.block_size,
            dampening_frac=params.dampening,
            preserve_sparsity_mask=pruned,
        )
    weight: torch.Tensor = made
    return weight


@contextmanager
def inverted(layer: str) -> Iterator[None]:
    """Raises where the library could not invert the second moments: it says so in its log alone and
    prunes by magnitude."""
    from loguru import logger

    said: list[str] = []
    handler = logger.add(
        lambda text: said.append(str(text)), level="WARNING", filter="llmcompressor"
    )
    try:
        yield
    finally:
        logger.remove(handler)
    if any("invert" in text for text in said):
        raise CallFailure(
            "not_a_number",
            f"Cannot prune {layer}: the second moments of its inputs cannot be inverted",
            hint="Raise dampening, or take more calibration windows",
        )
