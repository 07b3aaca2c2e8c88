"""How much the units of a block matter: by the norms of their weights, or by what the loss would
change without them, to first or second order (LLM-Pruner, arXiv 2305.11627)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import Checkpoint
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.pruning.units import COLUMNS, ROWS, Units

if TYPE_CHECKING:
    import torch

IMPORTANCES = ("weight", "taylor", "taylor_mixed")


def weight_scores(checkpoint: Checkpoint, units: Units, context: Context) -> np.ndarray:
    """What each unit can add at most: the product of the norms of the matrices that it passes.

    returns: (units,) float64
    """
    product = np.ones(units.count)
    for span in units.spans:
        if span.bounds:
            squares = np.square(context.matrix(checkpoint, span.layer), dtype=np.float64)
            product *= units.by_unit(span, squares.sum(axis=1 - span.axis))
    return np.sqrt(product)


@dataclass(frozen=True)
class Layer:
    """A layer of the loaded model whose weights are scored."""

    weight: torch.Tensor
    bias: torch.Tensor | None
    transposed: bool  # the weight is (in, out)

    def parameters(self) -> Iterator[torch.Tensor]:
        yield self.weight
        if self.bias is not None:
            yield self.bias


class Taylor:
    """Scores of the units of a model in memory, from its gradients on windows of text."""

    def __init__(self, model: Any, context: Context, every: Sequence[Units], mixed: bool) -> None:
        model.requires_grad_(False)
        model.config.use_cache = False
        self.model, self.context, self.mixed = model, context, mixed
        self.layers: dict[str, Layer] = {}
        for name in dict.fromkeys(span.layer for units in every for span in units.spans):
            module = model.get_submodule(context.layout.modules[name])
            self.layers[name] = Layer(module.weight, module.bias, name in context.layout.transposed)
            for parameter in self.layers[name].parameters():
                parameter.requires_grad_(True)

    def scores(self, every: Sequence[Units], windows: torch.Tensor, label: str) -> list[np.ndarray]:
        """For each of these, of each unit the sum of |w g| over its weights, and where mixed
        ½ w² g² more (g²: mean of the windows' squares, the Hessian's diagonal after Fisher).

        windows: (windows, tokens) int64; returns: (units,) float64 each
        raises: CallFailure "not_a_number" where a loss or a gradient is none
        """
        squares = self.add_gradients(windows, label)
        sums = {
            name: self.feature_sums(layer, len(windows), squares)
            for name, layer in self.layers.items()
        }
        for parameter in self.parameters():
            parameter.grad = None
        return [
            sum(
                (units.by_unit(span, sums[span.layer][span.axis]) for span in units.spans),
                np.zeros(units.count),
            )
            for units in every
        ]

    def parameters(self) -> Iterator[torch.Tensor]:
        """Every parameter that is scored."""
        for layer in self.layers.values():
            yield from layer.parameters()

    def add_gradients(self, windows: torch.Tensor, label: str) -> dict[int, torch.Tensor]:
        """Leaves the sum of the windows' gradients on the parameters; returns the sums of their
        squares by the parameter's id, where they are wanted."""
        squares: dict[int, torch.Tensor] = {}
        for done, window in enumerate(windows, start=1):
            before = {id(p): p.grad for p in self.parameters()} if self.mixed else {}
            if self.mixed:
                for parameter in self.parameters():
                    parameter.grad = None
            row = window.unsqueeze(0).to(self.model.device)
            loss = self.model(input_ids=row, labels=row, use_cache=False).loss
            value = float(loss.detach())
            if not math.isfinite(value):
                raise not_a_number(f"the loss of calibration window {done} is {value}")
            loss.backward()
            for parameter in self.parameters() if self.mixed else ():
                own = parameter.grad
                if own is None:
                    continue
                squared = own.square()
                if id(parameter) in squares:
                    squared += squares[id(parameter)]
                squares[id(parameter)] = squared
                earlier = before[id(parameter)]
                parameter.grad = own if earlier is None else earlier.add_(own)
            self.context.report.progress(label, done, len(windows), "windows")
        return squares

    def feature_sums(
        self, layer: Layer, windows: int, squares: dict[int, torch.Tensor]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(by row with its bias, by column) of a layer's matrix as (out, in)."""
        matrix = self.changes(layer.weight, windows, squares)
        matrix = matrix.T if layer.transposed else matrix
        sums = [matrix.sum(dim=1).cpu().numpy(), matrix.sum(dim=0).cpu().numpy()]
        if layer.bias is not None:
            sums[ROWS] = sums[ROWS] + self.changes(layer.bias, windows, squares).cpu().numpy()
        if not all(np.isfinite(one).all() for one in sums):
            raise not_a_number("a gradient on the calibration windows is no finite number")
        return sums[ROWS], sums[COLUMNS]

    def changes(
        self, parameter: torch.Tensor, windows: int, squares: dict[int, torch.Tensor]
    ) -> torch.Tensor:
        """What the loss changes by without each weight, in float64; 0 where no gradient comes."""
        if parameter.grad is None:
            return parameter.detach().double() * 0
        weight = parameter.detach().double()
        found = (weight * parameter.grad.double() / windows).abs()
        if self.mixed:
            found += 0.5 * weight.square() * squares[id(parameter)].double() / windows
        return found

    def silence(self, units: Units, gone: np.ndarray) -> None:
        """Sets to zero what these units add, so that the model computes as if they were cut.
        gone: (k,) int"""
        import torch

        for span in units.spans:
            if span.axis == COLUMNS:
                layer = self.layers[span.layer]
                places = torch.from_numpy(units.features(span, gone)).to(layer.weight.device)
                with torch.no_grad():
                    weight = layer.weight.T if layer.transposed else layer.weight
                    weight[:, places] = 0.0


def not_a_number(why: str) -> CallFailure:
    """The failure of a backward pass that tells nothing."""
    return CallFailure(
        "not_a_number",
        f"Cannot weigh by gradients: {why}",
        hint="Take the importance weight, which needs none, or other calibration text",
    )
