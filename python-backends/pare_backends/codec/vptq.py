"""VPTQ (Liu et al., arXiv 2409.17066): vectors of weights become numbers of centroids, by the
second moments of the layer's inputs. The official code needs CUDA; this is our own.

As the paper has it: vectors along the outputs, k-means weighted by the diagonal of the second
moments, the column loop of GPTQ, a residual codebook. Not the paper's: a scale for each row instead
of one for each column (of an output and a query projection of the demo's model, at 2 bits, 0.0052
and 0.0102 of the weighted error are left so, 0.0053 and 0.0121 without scales, 0.0048 and 0.0118
with columns'; GPTQ in groups of 64 leaves 0.0077 and 0.0164); outlier columns in float16 instead
of a codebook of their own; codebooks fitted layer by layer and not end to end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import Checkpoint, VectorTensor
from pare_backends.checkpoint.forms.vectors import Outliers, VectorProfile, row_factors
from pare_backends.codec.blocks import check_encodable
from pare_backends.codec.finished_layers import FinishedLayers
from pare_backends.codec.vector_search import Coded, Target, search
from pare_backends.device import on_device
from pare_backends.failures import CallFailure
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Block, BlockPass, Inputs
from pare_backends.pruning.calibrated import all_experts

if TYPE_CHECKING:
    import torch


@declared_knobs
class Params:
    """Knobs, as plugins/codec/vptq.ts declares them."""

    vector_length: int
    centroid_bits: int
    residual_bits: int
    codebook_share: float
    outlier_share: float
    refits: int
    dampening: float
    samples: int


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """Encodes the linear layers, block after block, on the calibration windows."""
    layers = context.layout.linear
    check_encodable(checkpoint, context, layers)
    windows = context.calibration(params.samples)
    model, windows = on_device(context.load_linear(checkpoint)[0], windows)
    modules = {layer: context.layout.modules[layer] for layer in layers}
    work = Encoding(model, params, context, FinishedLayers(context.work_dir), {})
    with context.report.span("encode"), all_experts(context):
        passing = BlockPass(model, modules, second_moments)
        passing.run(windows, work.change, work.found)
    context.figure("calibration_tokens", windows.numel(), "tokens")
    return checkpoint.with_stored({layer: work.tensors[layer] for layer in layers})


def second_moments(module: Any, values: torch.Tensor, sums: Any, tokens: int) -> tuple[Any, int]:
    """X Xᵀ of the inputs, a token's mean. returns: ((in, in) float32, tokens)"""
    rows = values.reshape(-1, values.shape[-1]).float()
    added = rows.T @ rows
    count = tokens + len(rows)
    return (added if sums is None else sums * tokens + added) / max(1, count), count


@dataclass(frozen=True)
class Encoding:
    """What is encoded, and what of it is done."""

    model: Any
    params: Params
    context: Context
    finished: FinishedLayers
    tensors: dict[str, VectorTensor]

    def found(self, block: Block) -> bool:
        """Whether all layers of the block are kept from before; the model has them then."""
        kept = {layer: self.finished.find(layer) for layer in block.layers}
        if any(there is None for there in kept.values()):
            return False
        for layer, there in kept.items():
            self.put(layer, *there)  # type: ignore[misc]
        return True

    def change(self, block: Block, inputs: Mapping[str, Inputs]) -> bool:
        """Encodes each layer that is not kept from before, and sets the model's weights to what the
        codes stand for."""
        for layer in block.layers:
            there = self.finished.find(layer)
            if there is None:
                weights = self.module(layer).weight.detach().cpu()
                seed = self.context.seed
                there = encode(layer, weights, inputs[layer].sums.cpu(), self.params, seed)
                self.finished.keep(layer, *there)
            self.put(layer, *there)
        return True

    def put(self, layer: str, parts: dict[str, np.ndarray], figures: dict[str, float]) -> None:
        """Takes a layer's code, into the model too."""
        import torch

        rows, columns = self.module(layer).weight.shape
        profile = profile_of(self.params, rows, columns)
        transposed = layer in self.context.layout.transposed
        tensor = tensor_of(parts, profile, (rows, columns), transposed)
        tensor.check(layer)
        self.tensors[layer] = tensor
        weight = tensor.weight().T if transposed else tensor.weight()
        self.module(layer).weight.copy_(torch.from_numpy(np.ascontiguousarray(weight)))
        for metric, value in figures.items():
            self.context.figure(metric, value, layer=layer)
        done, every = len(self.tensors), len(self.context.layout.linear)
        self.context.report.progress("encode", done, every, "layers")

    def module(self, layer: str) -> Any:
        """The module that computes with a layer."""
        return self.model.get_submodule(self.context.layout.modules[layer])


def profile_of(params: Params, rows: int, columns: int) -> VectorProfile:
    """What a vector of such a matrix is made of: as the knobs say, or shorter with as many bits a
    weight where the codebooks would take more than their share. The same as in
    plugins/forms/vectors.ts."""
    whole = (params.vector_length, params.centroid_bits, params.residual_bits)
    most = params.codebook_share * rows * columns
    shorter = [
        VectorProfile(length, whole[1] * length // whole[0], whole[2] * length // whole[0])
        for length in range(whole[0], 0, -1)
        if whole[1] * length % whole[0] == 0 and whole[2] * length % whole[0] == 0
    ]
    small = [one for one in shorter if 16 * one.centroids * one.length <= most]
    return small[0] if small else shorter[-1]


def encode(
    name: str, weights: torch.Tensor, moments: torch.Tensor, params: Params, seed: int
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """(the parts of a matrix's code, its errors).

    weights: (o, i) float32; moments: (i, i) float32; `name` is for the failure's sentence
    """
    import torch

    if not (torch.isfinite(weights).all() and torch.isfinite(moments).all()):
        raise CallFailure("not_a_number", f"Cannot encode {name}: it or its inputs are not finite")
    rows, columns = weights.shape
    profile = profile_of(params, rows, columns)
    kept = int(params.outlier_share * columns)
    row_scales, scale = scales_of(weights.numpy())
    factors = torch.from_numpy(row_factors(row_scales, scale))
    order = moments.diagonal().argsort(descending=True, stable=True)
    target = target_of(name, weights, moments, factors, order, profile, kept, params.dampening)
    coded = search(target, profile, params.refits, seed)
    made = torch.empty_like(weights)
    made[:, order] = coded.weights()[:rows] * factors[:, None]
    whole = float(weights.double().square().sum())
    off = float((made - weights).double().square().sum())
    figures = {
        "weighted_error": target.error(coded.weights()),
        "relative_error": off / whole if whole > 0 else 0.0,
    }
    parts = code_parts(coded, order, kept, rows, 1 << profile.centroid_bits)
    return parts | {"row_scales": row_scales, "scale": np.array([scale])}, figures


def scales_of(weights: np.ndarray) -> tuple[np.ndarray, np.float32]:
    """(each row's spread around zero, relative to the matrix's; the matrix's). returns: ((o,)
    float16, float32); rows of zeros have 0"""
    spreads = np.sqrt(np.square(weights, dtype=np.float64).mean(1))
    whole = float(np.sqrt(np.square(spreads).mean())) or 1.0
    return (spreads / whole).astype(np.float16), np.float32(whole)


def target_of(
    name: str,
    weights: torch.Tensor,
    moments: torch.Tensor,
    factors: torch.Tensor,
    order: torch.Tensor,
    profile: VectorProfile,
    kept: int,
    dampening: float,
) -> Target:
    """The matrix as it is searched. factors: (o,), of the rows; order: (i,), of the columns"""
    import torch

    missing = -len(weights) % profile.length
    scaled = torch.where(factors[:, None] > 0, weights / factors[:, None], 0.0)[:, order]
    own = moments[order][:, order].clone()
    mean = float(own.diagonal().mean())
    own.diagonal().add_(dampening * mean if mean > 0 else 1.0)
    try:
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(own))
        factor = torch.linalg.cholesky(inverse, upper=True)
    except RuntimeError as error:
        raise CallFailure(
            "not_a_number",
            f"Cannot encode {name}: the second moments of its inputs cannot be inverted",
            hint="Raise dampening, or take more calibration windows",
        ) from error
    padded = torch.nn.functional.pad(scaled, (0, 0, 0, missing))
    row_weights = torch.nn.functional.pad(factors.square(), (0, missing))
    return Target(padded, row_weights, own, factor, kept)


def code_parts(
    coded: Coded, order: torch.Tensor, kept: int, rows: int, first: int
) -> dict[str, np.ndarray]:
    """The codes with the columns in the matrix's own order. first: centroids of the first book"""
    inner = order[kept:].argsort()
    outer = order[:kept].argsort()
    second = coded.first[:, :0] if coded.second is None else coded.second - first
    return {
        "first": coded.first[inner].numpy().astype(np.uint16),
        "second": second[inner].numpy().astype(np.uint16),
        "centroids": coded.centroids.numpy().astype(np.float16),
        "columns": order[:kept][outer].numpy().astype(np.int32),
        "values": coded.kept[:rows][:, outer].numpy().astype(np.float16),
    }


def tensor_of(
    parts: Mapping[str, np.ndarray],
    profile: VectorProfile,
    shape: tuple[int, int],
    transposed: bool,
) -> VectorTensor:
    """A matrix in its stored form, from what `encode` made."""
    outliers = Outliers(parts["columns"], parts["values"])
    second = parts["second"] if profile.residual_bits else None
    scale = np.float32(parts["scale"][0])
    return VectorTensor.of(
        parts["first"],
        second,
        parts["centroids"],
        (parts["row_scales"], scale),
        outliers,
        profile,
        shape,
        transposed,
    )
