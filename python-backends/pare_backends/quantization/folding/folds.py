"""Where a scale of a layer's inputs can be folded into what makes them: a norm, or another layer.

Found by effect and not by architecture: which layers read a norm's very output is seen as the model
runs, and a fold counts only if logits stay as they are when it is done with random powers of two,
which floats multiply by exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.pruning.block_pass import blocks_of

if TYPE_CHECKING:
    import torch

PRESERVED = 1e-5
"""Largest difference of a logit that counts as none, over the largest logit."""


@dataclass(frozen=True)
class Fold:
    """A scale for each input of `readers`, taken back where `source` makes them."""

    source: str  # module of a norm, or the layer whose rows are divided
    readers: tuple[str, ...]  # all layers that read what the source makes
    norm_offset: float | None  # a norm multiplies by this plus its weight; None: a layer

    @property
    def kind(self) -> str:
        """The fold without its block, in words: input_layernorm to q_proj, k_proj, v_proj."""
        readers = ", ".join(layer.rsplit(".", 1)[-1] for layer in self.readers)
        return f"{self.source.rsplit('.', 1)[-1]} to {readers}"


@dataclass(frozen=True)
class Folds:
    """What can be folded, and the layers whose inputs nothing can take a scale for."""

    folds: tuple[Fold, ...]
    unscaled: tuple[str, ...]


def find_folds(
    model: Any, modules: Mapping[str, str], experts: frozenset[str], tokens: torch.Tensor
) -> Folds:
    """The folds that leave the model's function as it is.

    model: rebuilt of plain Linears; modules: by layer; experts: layers that are left unscaled, as
    each sees tokens of its own; tokens: (1, tokens) int64, on which the function is compared
    """
    found: list[Fold] = []
    scaled: set[str] = set()
    for candidates in by_kind(candidate_folds(model, modules, experts, tokens)):
        fresh = [fold for fold in candidates if not scaled & set(fold.readers)]
        if fresh and is_preserved(model, modules, fresh, tokens):
            found += fresh
            scaled.update(layer for fold in fresh for layer in fold.readers)
    order = {layer: number for number, layer in enumerate(modules)}
    found.sort(key=lambda fold: order[fold.readers[0]])
    return Folds(tuple(found), tuple(layer for layer in modules if layer not in scaled))


def by_kind(folds: Sequence[Fold]) -> list[list[Fold]]:
    """The same folds of all blocks together: they are tried at once."""
    kinds: dict[tuple[str, float | None], list[Fold]] = {}
    for fold in folds:
        kinds.setdefault((fold.kind, fold.norm_offset), []).append(fold)
    return list(kinds.values())


def candidate_folds(
    model: Any, modules: Mapping[str, str], experts: frozenset[str], tokens: torch.Tensor
) -> list[Fold]:
    """Folds that shapes allow; what they do to the function is not known yet."""
    layers = {module: layer for layer, module in modules.items() if layer not in experts}
    found: list[Fold] = []
    read: set[str] = set()
    for norm, readers in norm_readers(model, tokens).items():
        own = tuple(layers[reader] for reader in readers if reader in layers)
        if own and len(own) == len(readers):
            found += [Fold(norm, own, offset) for offset in (0.0, 1.0)]
            read.update(own)
    for block in blocks_of(model, modules):
        inside = [layer for layer in block.layers if layer not in experts]
        for reader in (layer for layer in inside if layer not in read):
            width, parent = shape(model, modules, reader)[1], modules[reader].rsplit(".", 1)[0]
            found += [
                Fold(layer, (reader,), None)
                for layer in inside
                if layer != reader
                and modules[layer].rsplit(".", 1)[0] == parent
                and shape(model, modules, layer)[0] == width
            ]
    return found


def shape(model: Any, modules: Mapping[str, str], layer: str) -> tuple[int, int]:
    """(outputs, inputs) of a layer."""
    rows, columns = model.get_submodule(modules[layer]).weight.shape
    return int(rows), int(columns)


def norm_readers(model: Any, tokens: torch.Tensor) -> dict[str, list[str]]:
    """The modules that are given the very output of each norm, by the norm's module."""
    import torch

    made: dict[int, tuple[str, torch.Tensor]] = {}  # holds the tensor: its id is no other's then
    readers: dict[str, list[str]] = {}

    def maker(name: str) -> Any:
        def after(module: Any, arguments: Any, output: Any) -> None:
            made[id(output)] = (name, output)

        return after

    def reader(name: str) -> Any:
        def before(module: Any, arguments: tuple[Any, ...]) -> None:
            if arguments and id(arguments[0]) in made:
                readers.setdefault(made[id(arguments[0])][0], []).append(name)

        return before

    handles = []
    for name, module in model.named_modules():
        if next(module.children(), None) is not None:
            continue
        weight = getattr(module, "weight", None)
        if isinstance(weight, torch.Tensor) and weight.dim() == 1:
            handles.append(module.register_forward_hook(maker(name)))
        handles.append(module.register_forward_pre_hook(reader(name)))
    try:
        with torch.no_grad():
            model(input_ids=tokens, use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    return readers


def is_preserved(
    model: Any, modules: Mapping[str, str], folds: Sequence[Fold], tokens: torch.Tensor
) -> bool:
    """Whether logits stay as they are when these folds are done, with scales of 1/4 to 4."""
    import torch

    with torch.no_grad():
        before = model(input_ids=tokens, use_cache=False).logits.double()
        with folded_at_random(model, modules, folds):
            after = model(input_ids=tokens, use_cache=False).logits.double()
    largest = before.abs().max()
    return bool(((after - before).abs().max() <= PRESERVED * largest).item())


@contextmanager
def folded_at_random(
    model: Any, modules: Mapping[str, str], folds: Sequence[Fold]
) -> Iterator[None]:
    """Within, the folds are done; the weights are exactly as they were after."""
    import torch

    chance = torch.Generator().manual_seed(0)
    undo: list[Any] = []
    for fold in folds:
        readers = [model.get_submodule(modules[layer]) for layer in fold.readers]
        like = readers[0].weight
        powers = torch.randint(-2, 3, (like.shape[1],), generator=chance)
        scale = torch.exp2(powers.to(like.dtype)).to(like.device)
        for reader in readers:
            reader.weight.mul_(scale)
            undo.append(lambda reader=reader, scale=scale: reader.weight.div_(scale))
        source = model.get_submodule(modules.get(fold.source, fold.source))
        bias = getattr(source, "bias", None)
        if bias is not None:
            bias.div_(scale)
            undo.append(lambda bias=bias, scale=scale: bias.mul_(scale))
        if fold.norm_offset is None:
            source.weight.div_(scale[:, None])
            undo.append(lambda source=source, scale=scale: source.weight.mul_(scale[:, None]))
        else:
            kept, offset = source.weight.clone(), fold.norm_offset
            source.weight.copy_((kept + offset) / scale - offset)
            undo.append(lambda source=source, kept=kept: source.weight.copy_(kept))
    try:
        yield
    finally:
        for step in undo:
            step()
