"""How much a layer's format costs: the layer alone in it, everything else as it was.

Three scorers. kl: divergence of the model's next-word distribution, by forward passes that start at
the layer's block. fisher: its second-order estimate, ½ Σ F · ΔW², by one backward pass a window for
all layers and formats. reconstruction: squared error of the layer's outputs over their square.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pare_backends.checkpoint import GridTensor, StoredTensor
from pare_backends.checkpoint.load import round_inputs
from pare_backends.failures import StageFailure
from pare_backends.models.layout import Layout
from pare_backends.progress import Report
from pare_backends.pruning.block_pass import blocks_of
from pare_backends.quantization.mixing.fisher import fisher_diagonal
from pare_backends.quantization.mixing.restart import RestartableModel, divergence

if TYPE_CHECKING:
    import torch

SCORERS = {"kl": "nats per token", "fisher": "nats per token", "reconstruction": "1"}
"""Each with the unit of its values."""


@dataclass(frozen=True)
class Score:
    """`LayerScore` of the wire: a layer in a format, by a scorer."""

    layer: str
    layer_index: int
    part: str  # linear, embedding or head
    format: str
    weight_bits: float
    size_bytes: int
    scorer: str
    value: float
    standard_error: float | None  # over tokens; kl alone has one
    unit: str
    n: int | None  # tokens; None: another program's file does not say
    # Index of the first layer that is given the same input, as K is what Q is; None: not known.
    shares_input: int | None


class Named(Protocol):
    """What a layer may be put into. widths: what must divide its rows"""

    @property
    def name(self) -> str: ...
    @property
    def widths(self) -> tuple[int, ...]: ...


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

    def run(self, layers: Sequence[str]) -> list[Score]:
        """The scores of these layers in the order of the model: layer by layer, format by format.

        raises: StageFailure "invalid" where a group divides no row of a layer, "bad_input" for an
        unknown scorer
        """
        self.check(layers)
        done = read_kept(self.kept)
        modules = {layer: self.layout.modules[layer] for layer in layers}
        if "fisher" in self.scorers and any(layer not in done for layer in layers):
            with self.report.span("fisher", library=True):
                self.fisher = fisher_diagonal(
                    self.model, modules, self.windows, self.seed, self.told("windows")
                )
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

    def told(self, unit: str) -> Any:
        """Shows how far the backward passes are."""
        total = len(self.windows)
        return lambda done: self.report.progress("fisher", done, total, unit)

    def check(self, layers: Sequence[str]) -> None:
        """Raises before any work where something cannot be scored."""
        for scorer in self.scorers:
            if scorer not in SCORERS:
                raise StageFailure(
                    "bad_input",
                    f"Cannot score layers by {scorer!r}: it is one of {', '.join(SCORERS)}",
                )
        for layer in layers:
            columns = self.weight(layer).shape[1]
            for one in self.formats:
                odd = next((width for width in one.widths if columns % width != 0), None)
                if odd is not None:
                    raise StageFailure(
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
        index, start = layers.index(layer), self.start(restart, block, layer)
        weight = self.weight(layer)
        scores = []
        for one in self.formats:
            made = self.made(one, layer, weight.detach().numpy(), inputs)
            if made is None:
                continue
            tensor, matrix = made
            for scorer in self.scorers:
                found = self.value(restart, scorer, layer, start, tensor, matrix, inputs)
                if found is None:
                    continue
                value, error, n = found
                if not math.isfinite(value):
                    raise StageFailure(
                        "not_a_number",
                        f"Cannot score {layer} as {one.name} by {scorer}: it is {value}",
                        hint="The model itself gives no finite numbers on this text",
                    )
                scores.append(
                    Score(
                        layer,
                        index,
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
        layer: str,
        start: int,
        tensor: StoredTensor,
        matrix: np.ndarray,
        inputs: Inputs,
    ) -> tuple[float, float | None, int] | None:
        """(value, its standard error, tokens); None where the scorer says nothing of the format."""
        import torch

        weight, group = self.weight(layer), input_group(tensor)
        other = torch.from_numpy(matrix)
        if scorer == "kl":
            with swapped(self.model.get_submodule(self.layout.modules[layer]), other, group):
                parts = [
                    divergence(restart.logits[window], restart.run(window, start))
                    for window in range(len(self.windows))
                ]
            tokens = torch.cat(parts)
            return float(tokens.mean()), standard_error(tokens), len(tokens)
        if scorer == "fisher":
            if group is not None:
                return None  # it is of weights: what rounding the inputs costs it does not see
            change = (other - weight).double().square()
            half = 0.5 * float((self.fisher[layer].double() * change).sum())
            return half, None, self.windows.numel()
        return reconstruction(weight, other, group, inputs.values)


def input_group(tensor: StoredTensor) -> int | None:
    """Features of a layer's input that share a scale, -1: all; None: its inputs stay floats."""
    if isinstance(tensor, GridTensor) and tensor.activation_bits is not None:
        return tensor.activation_group_size
    return None


@dataclass(frozen=True)
class Inputs:
    """What a layer is given, window by window: an expert, maybe nothing."""

    values: Sequence[Any]
    first: str  # the layer that is given the same before all others


@contextmanager
def taking(model: Any, layout: Layout, taken: Mapping[str, list[Any]]) -> Iterator[None]:
    """Within, what these layers are given is added to their lists."""

    def taker(layer: str) -> Any:
        return lambda module, arguments: taken[layer].append(arguments[0])

    handles = [
        model.get_submodule(layout.modules[layer]).register_forward_pre_hook(taker(layer))
        for layer in taken
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def swapped(module: Any, weight: torch.Tensor, group: int | None) -> Iterator[None]:
    """Within, a layer computes with another weight, its inputs rounded where there is a group."""
    original = module.weight.data
    handle = None
    if group is not None:
        handle = module.register_forward_pre_hook(
            lambda module, given: (rounded(given[0], group), *given[1:])
        )
    module.weight.data = weight
    try:
        yield
    finally:
        module.weight.data = original
        if handle is not None:
            handle.remove()


def rounded(inputs: torch.Tensor, group_size: int) -> torch.Tensor:
    """A layer's inputs in 8 bits; token ids, which an embedding is given, as they are."""
    return round_inputs(inputs, group_size) if inputs.is_floating_point() else inputs


def reconstruction(
    weight: torch.Tensor, other: torch.Tensor, group: int | None, inputs: Sequence[Any]
) -> tuple[float, None, int] | None:
    """Squared error of a layer's outputs over their square; of an embedding, of the rows that are
    looked up. None where the layer saw no token, as an expert may, or gives zeros alone."""
    import torch

    lost = whole = 0.0
    n = 0
    with torch.no_grad():
        for given in inputs:
            if given.is_floating_point():
                rows = given.reshape(-1, given.shape[-1])
                kept = rows if group is None else rounded(rows, group)
                before, after = rows @ weight.T, kept @ other.T
            else:
                before, after = weight[given.reshape(-1)], other[given.reshape(-1)]
            lost += float((after - before).double().square().sum())
            whole += float(before.double().square().sum())
            n += len(before)
    return (lost / whole, None, n) if whole > 0 else None


def standard_error(values: torch.Tensor) -> float | None:
    """Of the mean; None of a single value."""
    return float(values.std() / math.sqrt(len(values))) if len(values) > 1 else None


def read_kept(path: Path | None) -> dict[str, list[Score]]:
    """The layers that an earlier pass has scored; a line that a kill cut off counts as none."""
    found: dict[str, list[Score]] = {}
    if path is None or not path.exists():
        return found
    for line in path.read_text().splitlines():
        try:
            kept = json.loads(line)
            found[kept["layer"]] = [Score(**row) for row in kept["scores"]]
        except (ValueError, KeyError, TypeError):
            continue
    return found


def keep(path: Path | None, layer: str, scores: Sequence[Score]) -> None:
    """Adds a layer to the file; a torn last line is ended first."""
    if path is None:
        return
    with path.open("a") as file:
        line = json.dumps({"layer": layer, "scores": [asdict(one) for one in scores]})
        file.write(f"\n{line}\n")
