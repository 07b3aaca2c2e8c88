"""One pass of calibration text through a model that is changed on its way, block after block.

Each block meets the outputs of the blocks before it as they were left. What the layers of a block
are given is seen while it computes; then its weights are set, and it computes once more with them.
A block is told by the module list that it stands in, whatever the model calls it; a layer outside
of all lists is a block by itself. The blocks run where the model's own forward pass runs them, with
the masks, positions and whatever else it gives them: nothing else of an architecture is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pare_backends.failures import CallFailure

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Block:
    """A part of the model whose layers are changed together."""

    module: str
    layers: tuple[str, ...]  # by their names in files, in the order of the model


@dataclass
class Inputs:
    """What a layer is given by one pass over all windows."""

    sums: Any  # what `accumulate` made of them
    windows: int


Accumulate = Callable[[Any, "torch.Tensor", Any, int], tuple[Any, int]]
"""(module, inputs, sums so far or None, windows so far) -> (sums, windows), as llm-compressor's."""


def blocks_of(model: Any, modules: Mapping[str, str]) -> list[Block]:
    """The blocks that hold these layers, in the order of the layers. modules: module by layer"""
    import torch

    lists = {n for n, m in model.named_modules() if isinstance(m, torch.nn.ModuleList)}
    found: dict[str, list[str]] = {}
    for layer, module in modules.items():
        parts = module.split(".")
        inside = (n for n in range(1, len(parts)) if ".".join(parts[:n]) in lists)
        first = next(inside, None)
        name = module if first is None else ".".join(parts[: first + 1])
        found.setdefault(name, []).append(layer)
    return [Block(name, tuple(layers)) for name, layers in found.items()]


class AllSeen(Exception):
    """Every block was met: what comes after them, such as the output head, is not needed."""


@dataclass
class BlockPass:
    """The pass, and what it sees. modules: by layer"""

    model: Any
    modules: Mapping[str, str]
    accumulate: Accumulate
    tried: bool = False  # changes are only tried: each block meets what it would without them
    seen: dict[str, Inputs] = field(default_factory=dict)  # of the block that computes now
    fresh: dict[tuple[int, int], tuple[Any, Inputs]] = field(default_factory=dict)
    watching: bool = False

    def run(
        self,
        windows: torch.Tensor,
        change: Callable[[Block, Mapping[str, Inputs]], bool],
        done: Callable[[Block], bool] = lambda block: False,
        changed: Callable[[Block, float], None] = lambda block, error: None,
    ) -> None:
        """Calls `change` for each block with what its layers are given, then `changed` with how far
        that has moved its outputs: the sum of squares of the difference over that of the outputs.

        windows: (windows, tokens) int64; all go through a block together
        change: says whether it has changed the block's weights
        done: whether a block is as it is to be already, which it may be made here
        raises: CallFailure "invalid" where the model never runs one of the layers
        """
        import torch

        blocks = blocks_of(self.model, self.modules)
        left = {block.module for block in blocks}

        def forward_of(block: Block, original: Callable[..., Any]) -> Callable[..., Any]:
            def forward(*arguments: Any, **given: Any) -> Any:
                if block.module not in left or done(block):
                    outputs = original(*arguments, **given)
                else:
                    outputs = before = self.watched(block, original, arguments, given)
                    if change(block, self.taken(block)):
                        after = original(*arguments, **given)
                        changed(block, moved(first_tensor(before), first_tensor(after)))
                        outputs = before if self.tried else after
                left.discard(block.module)
                if not left:
                    raise AllSeen
                return outputs

            return forward

        with torch.no_grad(), self.hooks(), replaced(self.model, blocks, forward_of):
            try:
                self.model(input_ids=windows, use_cache=False)
            except AllSeen:
                return
        raise CallFailure(
            "invalid",
            f"Cannot calibrate {min(left)}: the model does not run it on text",
            hint="Choose a method that needs no calibration data",
        )

    def watched(
        self, block: Block, original: Callable[..., Any], arguments: Any, given: Any
    ) -> Any:
        """The block's outputs; what its layers were given is in `seen` then."""
        self.seen.clear()
        self.fresh.clear()
        self.watching = True
        try:
            if len(block.layers) == 1 and self.modules[block.layers[0]] == block.module:
                self.take(block.layers[0], arguments[0])  # its own forward calls no hook
            return original(*arguments, **given)
        finally:
            self.watching = False

    def take(self, layer: str, values: torch.Tensor) -> None:
        """Adds what a layer is given; layers that are given the same share one account of it."""
        module = self.model.get_submodule(self.modules[layer])
        known = self.seen.get(layer)
        place = (id(values), values._version)
        if known is None and place in self.fresh:
            self.seen[layer] = self.fresh[place][1]
            return
        if known is None:
            self.seen[layer] = Inputs(*self.accumulate(module, values, None, 0))
            self.fresh[place] = (values, self.seen[layer])  # held: its id is no other's meanwhile
            return
        sums = known.sums.clone()
        self.seen[layer] = Inputs(*self.accumulate(module, values, sums, known.windows))

    def taken(self, block: Block) -> dict[str, Inputs]:
        """What the layers of the block that was watched last were given."""
        missing = [layer for layer in block.layers if layer not in self.seen]
        if missing:
            raise CallFailure(
                "invalid",
                f"Cannot calibrate {missing[0]}: the model does not run it on text",
                hint="Choose a method that needs no calibration data",
            )
        return dict(self.seen)

    @contextmanager
    def hooks(self) -> Any:
        """Within, the layers' inputs are taken while a block is watched."""

        def taker(layer: str) -> Any:
            def before(module: Any, arguments: tuple[Any, ...]) -> None:
                if self.watching:
                    self.take(layer, arguments[0])

            return before

        handles = [
            self.model.get_submodule(module).register_forward_pre_hook(taker(layer))
            for layer, module in self.modules.items()
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


@contextmanager
def replaced(model: Any, blocks: Sequence[Block], forward_of: Callable[..., Any]) -> Any:
    """Within, the blocks compute by other functions, made of their own ones."""
    modules = [model.get_submodule(block.module) for block in blocks]
    for block, module in zip(blocks, modules, strict=True):
        module.forward = forward_of(block, module.forward)
    try:
        yield
    finally:
        for module in modules:
            del module.forward  # the class's own again


def first_tensor(outputs: Any) -> torch.Tensor:
    """A block's hidden states: its output, or the first of several."""
    found: torch.Tensor = outputs[0] if isinstance(outputs, tuple) else outputs
    return found


def moved(before: torch.Tensor, after: torch.Tensor) -> float:
    """How far outputs moved: squares of the difference over squares of the outputs."""
    change = (after - before).double().square().sum()
    return float(change / before.double().square().sum().clamp_min(1e-30))
