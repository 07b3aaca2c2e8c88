"""Which tensors of a checkpoint are linear layers, which its embedding, and what the rest is.

Found by parameter and effect: what multiplies activations by a matrix, whatever its class and name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.empty_model import empty_model
from pare_backends.checkpoint.file_names import Filled, filled_parameters, stored_names
from pare_backends.checkpoint.files import tensor_entries, weight_files
from pare_backends.models.roles import Expert, expert_matrices, float_roles, linear_modules

GATED = ("gate_proj", "up_proj")


Stack = tuple[tuple[str, ...], ...]
"""Of a layer that holds a block's experts in one tensor, (experts, out, in): for each expert the
modules whose rows it has, once every matrix is a Linear of its own."""


@dataclass(frozen=True)
class Layout:
    """Layers by their names in files, such as model.layers.0.mlp.up_proj or, of an expert,
    model.layers.0.block_sparse_moe.experts.3.w1; the weight is `<layer>.weight`."""

    linear: tuple[str, ...]  # without the output head, in the order the model runs them
    embedding: str
    head: str | None  # the output head; None where it is the embedding
    modules: Mapping[str, str]  # module of a layer, an expert's as a Linear of its own
    transposed: frozenset[str] = frozenset()  # layers that files hold as (in, out)
    experts: frozenset[str] = frozenset()  # layers that are an expert's
    roles: Mapping[str, str] = field(default_factory=dict)  # of every other tensor in the files
    head_copy: str | None = None  # the embedding, stored a second time as an output head
    missing: tuple[str, ...] = ()  # layers of the model that the files hold no tensor of
    problems: tuple[str, ...] = ()  # matrices that cannot be packed, each in words
    own_forward: frozenset[str] = frozenset()  # layers of classes that read their weight themselves
    renamed: frozenset[str] = frozenset()  # tensors in the files that the model has other names for
    stacks: Mapping[str, Stack] = field(default_factory=dict)  # layers of no part, by name

    def part(self, targets: str) -> tuple[str, ...]:
        """Layers that a method's `targets` names: linear, embedding (with the head) or all."""
        outer = (self.embedding,) if self.head is None else (self.embedding, self.head)
        return {"linear": self.linear, "embedding": outer, "all": (*self.linear, *outer)}[targets]

    def role(self, tensor: str) -> str:
        """What a tensor of the files is, in a word: linear, expert, embedding, head, norm, …"""
        layer = tensor.removesuffix(".weight")
        if layer in self.experts:
            return "expert"
        if layer in self.linear:
            return "linear"
        if layer in (self.embedding, self.head_copy):
            return "embedding"
        return "head" if layer == self.head else self.roles.get(tensor, "other")


def layout_of(directory: str | Path) -> Layout:
    """Reads config.json and the names in the files; builds the model without weights, so it costs
    no memory."""
    return model_layout(empty_model(directory), list(tensor_entries(weight_files(directory))))


def model_layout(model: Any, names: Collection[str]) -> Layout:
    """The layout of a built model whose files hold tensors of these names."""
    filled = filled_parameters(model, stored_names(names))
    whole: dict[str, str] = {}  # file's tensor by parameter
    for name, place in filled.items():
        if place.expert is None and place.problem is None:
            whole.setdefault(place.parameter, name)
    matrices = linear_modules(model)
    experts = expert_layers(model, filled)
    linear: dict[str, str] = {}
    missing: list[str] = []
    for found in matrices:
        if isinstance(found, Expert):
            own = {} if found.problem else experts.get(found.parameter, {})
            linear.update(own)
            missing += [found.parameter] if 0 < len(own) < found.matrices else []
        elif f"{found.module}.weight" in whole:
            linear[layer_name(whole[f"{found.module}.weight"])] = found.module
        else:
            missing.append(found.module)
    plain = [found for found in matrices if not isinstance(found, Expert)]
    transposed = {found.module for found in plain if found.transposed}
    own_forward = {found.module for found in plain if found.own_forward}
    outer = outer_layers(model, filled, whole)
    missing += outer.missing
    modules = {**linear, **outer.modules}
    roles = float_roles(model)
    return Layout(
        tuple(linear),
        outer.embedding,
        outer.head,
        modules,
        frozenset(layer for layer, module in linear.items() if module in transposed),
        frozenset(layer for of_module in experts.values() for layer in of_module),
        {name: roles.get(place.parameter, "other") for name, place in filled.items()},
        outer.head_copy,
        tuple(missing),
        problems(matrices, filled, experts),
        frozenset(layer for layer, module in linear.items() if module in own_forward),
        frozenset(name for name, place in filled.items() if place.parameter != name),
        stacked_layers(matrices, whole),
    )


def stacked_layers(matrices: Collection[Any], whole: Mapping[str, str]) -> dict[str, Stack]:
    """The layers whose file holds a block's experts in one tensor as the model does."""
    found: dict[str, Stack] = {}
    for stack in matrices:
        name = whole.get(stack.parameter) if isinstance(stack, Expert) else None
        if name is None or stack.problem is not None or not name.endswith(".weight"):
            continue
        parent, own = stack.parameter.rsplit(".", 1)
        rows = GATED if own == "gate_up_proj" else (own,)
        found[layer_name(name)] = tuple(
            tuple(f"{parent}.{expert}.{one}" for one in rows) for expert in range(stack.count)
        )
    return found


def layer_name(tensor: str) -> str:
    """A layer's name, from its weight's."""
    return tensor.removesuffix(".weight")


def expert_layers(model: Any, filled: Mapping[str, Filled]) -> dict[str, dict[str, str]]:
    """Module by layer of the experts' matrices that the files hold one by one, by parameter."""
    stacks = {stack.parameter for stack in expert_matrices(model)}
    found: dict[str, dict[str, str]] = {}
    for name, place in filled.items():
        if place.expert is None or place.parameter not in stacks or not name.endswith(".weight"):
            continue
        parent, own = place.parameter.rsplit(".", 1)
        projection = GATED[place.share] if own == "gate_up_proj" else own
        module = f"{parent}.{place.expert}.{projection}"
        found.setdefault(place.parameter, {})[layer_name(name)] = module
    return found


@dataclass(frozen=True)
class Outer:
    """The layers at both ends of a model."""

    embedding: str
    head: str | None
    head_copy: str | None
    modules: Mapping[str, str]
    missing: tuple[str, ...]


def outer_layers(model: Any, filled: Mapping[str, Filled], whole: Mapping[str, str]) -> Outer:
    """The embedding and the head by what the model itself says they are; a head is tied where it
    is the embedding's own parameter."""
    names = {id(module): name for name, module in model.named_modules()}
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    tied = head is None or head.weight is embedding.weight
    inner = names[id(embedding)]
    parameter = f"{inner}.weight"
    fill = [name for name, place in filled.items() if place.parameter == parameter]
    missing = [] if fill else [inner]
    # A tied head that is stored all the same fills the embedding's parameter too.
    # Files of a base model leave its prefix out.
    own = next((name for name in fill if parameter.endswith(name)), fill[0] if fill else parameter)
    found = layer_name(own)
    copies = [layer_name(name) for name in fill if name != own]
    if tied:
        return Outer(found, None, next(iter(copies), None), {found: inner}, tuple(missing))
    outer = names[id(head)]
    if f"{outer}.weight" not in whole:
        return Outer(found, outer, None, {found: inner}, (*missing, outer))
    stored = layer_name(whole[f"{outer}.weight"])
    return Outer(found, stored, None, {found: inner, stored: outer}, tuple(missing))


def problems(
    matrices: Collection[Any], filled: Mapping[str, Filled], experts: Mapping[str, Any]
) -> tuple[str, ...]:
    """Why weight matrices of the model cannot be packed, one sentence a kind."""
    said: list[str] = []
    for stack in (m for m in matrices if isinstance(m, Expert)):
        if stack.parameter in experts and stack.problem is None:
            continue
        held = next((n for n, p in filled.items() if p.parameter == stack.parameter), None)
        why = stack.problem or (
            "its file holds all experts of a block in one tensor, and pare packs single matrices"
        )
        said.append(f"{held or stack.parameter} cannot be packed: {why}")
    return tuple(said)
