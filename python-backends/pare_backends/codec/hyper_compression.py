"""Hyper-Compression (Fan et al., arXiv 2409.00592): each two weights become the number of the
nearest point that a trajectory passes in a plane. No calibration data.

As the published code does it for language models: a lattice around the mean, what lies outside its
square drawn in by classes. Its 1,600 points and 3 classes take 6.5 bits a weight. Not the published
code's: the square's side follows from each matrix's own spread, where the code has 0.1 for all; the
pairs may be entropy coded, as points near the mean are met more often.
"""

from __future__ import annotations

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.codec.blocks import check_encodable
from pare_backends.codec.lattice_points import fitted
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context


@declared_knobs
class Params:
    """Knobs, as plugins/codec/hyper_compression.ts declares them."""

    lattice_points: int
    outer_classes: int
    entropy_coded: bool
    raw_above: float
    targets: str


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Encodes every matrix of the chosen part by itself; one that loses too much stays as it is."""
    layers = context.layout.part(params.targets)
    check_encodable(checkpoint, context, layers)
    tensors, raw = {}, []
    of = (params.lattice_points, params.outer_classes, params.entropy_coded, params.raw_above)
    with context.report.span("encode"):
        for done, layer in enumerate(layers, start=1):
            weights = checkpoint.weight(layer)
            if not np.isfinite(weights).all():
                raise CallFailure(
                    "not_a_number", f"Cannot encode {layer}: its weights are not finite"
                )
            tensor = fitted(weights, *of)
            error, relative = errors(weights, tensor.weight())
            if error > params.raw_above:
                raw.append(layer)
            else:
                tensors[layer] = tensor
                context.figure("relative_error", relative, layer=layer)
            context.report.progress("encode", done, len(layers), "layers")
    if raw:
        context.notes.append(
            f"{len(raw)} of {len(layers)} matrices stay in floats, as their mean error would be"
            f" above {params.raw_above} standard deviations: {', '.join(raw[:3])}"
        )
    return checkpoint.with_stored(tensors)


def errors(weights: np.ndarray, made: np.ndarray) -> tuple[float, float]:
    """(mean absolute error in standard deviations of the weights, relative squared error)."""
    spread, whole = float(weights.std()), float(np.square(weights, dtype=np.float64).sum())
    off = made - weights
    return (
        float(np.abs(off).mean()) / spread if spread > 0 else 0.0,
        float(np.square(off, dtype=np.float64).sum()) / whole if whole > 0 else 0.0,
    )
