"""How much a layer's format costs: the layer alone in it, everything else as it was.

kl: divergence of the model's next-word distribution, by forward passes that start at the layer's
block. fisher: its second-order estimate, ½ Σ F · ΔW², by one backward pass a window for all layers
and formats. reconstruction: squared error of the layer's outputs over their square. auto_scheme:
the delta loss of AutoRound's AutoScheme, all layers in the format at once, by a backward pass a
window and format.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pare_backends.checkpoint import GridTensor, StoredTensor
from pare_backends.failures import CallFailure
from pare_backends.models.layout import Layout
from pare_backends.progress import Report
from pare_backends.pruning.block_pass import blocks_of
from pare_backends.quantization.mixing.delta_loss import Losses, delta_losses
from pare_backends.quantization.mixing.fisher import fisher_diagonal
from pare_backends.quantization.mixing.formats import Format
from pare_backends.quantization.mixing.one_layer import (
    Inputs,
    input_group,
    reconstruction,
    standard_error,
    swapped,
    taking,
)
from pare_backends.quantization.mixing.restart import RestartableModel, divergence
from pare_backends.quantization.mixing.score import SCORERS, Score, keep, read_kept

if TYPE_CHECKING:
    import torch


class Named(Protocol):
    """What a layer may be put into. widths: what must divide its rows"""

    @property
    def name(self) -> str: ...
    @property
    def widths(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Place:
    """A layer in the model."""

    layer: str
    start: int  # the block that a change of it is first felt in
    inputs: Inputs


@dataclass
class Scoring:
    """The pass over all layers. model: rebuilt of plain Linears, as `Context.load_linear` gives it;
    windows: (windows, tokens) int64; kept: a file that a killed pass left, and goes on from."""

    model: Any
    layout: Layout
    windows: torch.Tensor
    formats: Sequence[Named]
    scorers: Sequence[str]
    seed: int
    report: Report
    kept: Path | None = None
    fisher: Mapping[str, torch.Tensor] = field(default_factory=dict)
    delta_losses: Losses = field(default_factory=dict)

    def run(self, layers: Sequence[str]) -> list[Score]:
        """The scores of these layers in the order of the model: layer by layer, format by format.

        raises: CallFailure "invalid" where a group divides no row of a layer, "bad_input" for an
        unknown scorer
        """
        self.check(layers)
        done = read_kept(self.kept)
        modules = {layer: self.layout.modules[layer] for layer in layers}
        if any(layer not in done for layer in layers):
            self.pass_backwards(modules)
        blocks = blocks_of(self.model, modules)
        inner = [block.module for block in blocks if block.module not in modules.values()]
        restart = RestartableModel(self.model, inner, self.windows, "kl" in self.scorers)
        counted, scores = 0, []
        with self.report.span("score", library=True), restart.running():
            for block in blocks:
                fresh = [layer for layer in block.layers if layer not in done]
                inputs = self.inputs_of(restart, block.module, block.layers) if fresh else {}
                for layer in block.layers:
                    if layer not in done:
                        found = self.score(restart, block.module, layer, layers, inputs[layer])
                        keep(self.kept, layer, found)
                        done[layer] = found
                    scores += done[layer]
                    counted += 1
                    self.report.progress("score", counted, len(layers), "layers")
        return scores

    def pass_backwards(self, modules: Mapping[str, str]) -> None:
        """What the scorers by gradients know of all layers at once."""
        if "fisher" in self.scorers:
            with self.report.span("fisher", library=True):
                told = self.told("fisher", len(self.windows))
                self.fisher = fisher_diagonal(self.model, modules, self.windows, self.seed, told)
        if "auto_scheme" in self.scorers:
            grids = grids_of(self.formats)
            inner = {
                layer: name for layer, name in modules.items() if self.part(layer) != "embedding"
            }
            kept = None if self.kept is None else self.kept.with_name("delta_losses.json")
            with self.report.span("auto_scheme", library=True):
                told = self.told("auto_scheme", len(grids) * len(self.windows))
                self.delta_losses = delta_losses(self.model, inner, grids, self.windows, kept, told)

    def told(self, scorer: str, total: int) -> Any:
        """Shows how far the backward passes are."""
        return lambda done: self.report.progress(scorer, done, total, "windows")

    def check(self, layers: Sequence[str]) -> None:
        """Raises before any work where something cannot be scored."""
        for scorer in self.scorers:
            if scorer not in SCORERS:
                raise CallFailure(
                    "bad_input",
                    f"Cannot score layers by {scorer!r}: it is one of {', '.join(SCORERS)}",
                )
        for layer in layers:
            columns = self.weight(layer).shape[1]
            for one in self.formats:
                odd = next((width for width in one.widths if columns % width != 0), None)
                if odd is not None:
                    raise CallFailure(
                        "invalid",
                        f"Cannot score {layer} as {one.name}: groups of {odd} do not divide the"
                        f" row's {columns} weights",
                        hint="Choose a group size that divides every row, or name no group",
                    )

    def weight(self, layer: str) -> torch.Tensor:
        """A layer's own matrix, (out, in)."""
        found: torch.Tensor = self.model.get_submodule(self.layout.modules[layer]).weight
        return found

    def part(self, layer: str) -> str:
        """Which part of the model a layer is."""
        if layer == self.layout.embedding:
            return "embedding"
        return "head" if layer == self.layout.head else "linear"

    def start(self, restart: RestartableModel, block: str, layer: str) -> int:
        """The block that a change of the layer is first felt in."""
        if block in restart.blocks:
            return restart.blocks.index(block)
        return len(restart.blocks) if layer == self.layout.head else 0

    def inputs_of(
        self, restart: RestartableModel, block: str, layers: Sequence[str]
    ) -> dict[str, Inputs]:
        """What the layers of a block are given, by layer."""
        taken: dict[str, list[Any]] = {layer: [] for layer in layers}
        with taking(self.model, self.layout, taken):
            for window in range(len(self.windows)):
                if block in restart.blocks:
                    restart.run_block(window, restart.blocks.index(block))
                else:
                    restart.run(window, self.start(restart, block, layers[0]))
        first: dict[int, str] = {}
        for layer, values in taken.items():
            if values:
                first.setdefault(id(values[0]), layer)
        return {
            layer: Inputs(values, first[id(values[0])] if values else layer)
            for layer, values in taken.items()
        }

    def score(
        self,
        restart: RestartableModel,
        block: str,
        layer: str,
        layers: Sequence[str],
        inputs: Inputs,
    ) -> list[Score]:
        """One layer in every format, by every scorer."""
        at, weight = Place(layer, self.start(restart, block, layer), inputs), self.weight(layer)
        scores = []
        for one in self.formats:
            made = self.made(one, layer, weight.detach().numpy(), inputs)
            if made is None:
                continue
            tensor, matrix = made
            for scorer in self.scorers:
                found = self.value(restart, scorer, at, one.name, tensor, matrix)
                if found is None:
                    continue
                value, error, n = found
                if not math.isfinite(value):
                    raise CallFailure(
                        "not_a_number",
                        f"Cannot score {layer} as {one.name} by {scorer}: it is {value}",
                        hint="The model itself gives no finite numbers on this text",
                    )
                scores.append(
                    Score(
                        layer,
                        layers.index(layer),
                        self.part(layer),
                        one.name,
                        8 * tensor.formula_bytes() / tensor.size,
                        tensor.formula_bytes(),
                        scorer,
                        value,
                        error,
                        SCORERS[scorer],
                        n,
                        layers.index(inputs.first),
                    )
                )
        return scores

    def made(
        self, one: Any, layer: str, weight: np.ndarray, inputs: Inputs
    ) -> tuple[StoredTensor, np.ndarray] | None:
        """A layer as it would be stored, and the matrix that it stands for; None: it cannot be.

        weight and the matrix: (out, in) float32
        """
        tensor: GridTensor = one.round(layer, weight, self.report.threads)
        return tensor, tensor.dequantize()

    def value(
        self,
        restart: RestartableModel,
        scorer: str,
        at: Place,
        form: str,
        tensor: StoredTensor,
        matrix: np.ndarray,
    ) -> tuple[float, float | None, int] | None:
        """(value, its standard error, tokens); None where the scorer says nothing of the format."""
        import torch

        if scorer == "auto_scheme":
            loss = self.delta_losses.get(form, {}).get(at.layer)
            return None if loss is None else (loss, None, self.windows.numel())
        weight, group = self.weight(at.layer), input_group(tensor)
        other = torch.from_numpy(matrix)
        if scorer == "kl":
            with swapped(self.model.get_submodule(self.layout.modules[at.layer]), other, group):
                parts = [
                    divergence(restart.logits[window], restart.run(window, at.start))
                    for window in range(len(self.windows))
                ]
            tokens = torch.cat(parts)
            return float(tokens.mean()), standard_error(tokens), len(tokens)
        if scorer == "fisher":
            if group is not None:
                return None  # it is of weights: what rounding the inputs costs it does not see
            change = (other - weight).double().square()
            half = 0.5 * float((self.fisher[at.layer].double() * change).sum())
            return half, None, self.windows.numel()
        return reconstruction(weight, other, group, at.inputs.values)


def grids_of(formats: Sequence[Named]) -> list[Format]:
    """Those that auto_round scores: grids of weights, the inputs as they are."""
    return [one for one in formats if isinstance(one, Format) and one.activation_group_size is None]
