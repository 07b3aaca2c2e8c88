"""What the parameters of a model are for, by their modules and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

STACK_NAMES = ("gate_up_proj", "up_proj", "down_proj")
UNCALLED = "mixer.dt_proj"
"""Mamba's mixer takes this weight out of its layer and never calls it, so that no method sees its
inputs or rounds them. It is a fiftieth of a block, in rows as short as 48: it stays in floats."""
MIXES_STREAMS = ("altup.modality_router", "altup.prediction_coefs", "altup.correction_coefs")
"""Of Gemma 3n's AltUp: what weighs its four streams by a token. Two of them have rows of 4 columns,
which no group divides, and the third has 4 rows; llama.cpp's quantizer leaves all in floats."""


@dataclass(frozen=True)
class Matrix:
    """A module that multiplies its input by a matrix."""

    module: str
    transposed: bool  # its weight is (in, out)
    own_forward: bool = False  # a kind of Linear that reads its weight by itself


@dataclass(frozen=True)
class Expert:
    """The matrices of a block's experts, one parameter of three dimensions."""

    parameter: str
    count: int
    problem: str | None  # why they cannot be taken apart

    @property
    def matrices(self) -> int:
        """Plain matrices in the parameter."""
        return self.count * (2 if self.parameter.endswith("gate_up_proj") else 1)


def linear_modules(model: Any) -> list[Matrix | Expert]:
    """Everything that multiplies by a matrix but the output head and routers, in the order of the
    model's modules."""
    import torch
    from transformers.pytorch_utils import Conv1D

    head = model.get_output_embeddings()
    stacks = {expert.parameter.rsplit(".", 1)[0]: 0 for expert in expert_matrices(model)}
    counts = {expert.count for expert in expert_matrices(model)}
    found: list[Matrix | Expert] = []
    for name, module in model.named_modules():
        if name.endswith((UNCALLED, *MIXES_STREAMS)):
            continue
        if isinstance(module, torch.nn.Linear) and module is not head:
            # A router gives a number for each expert, a shared expert's gate a single one.
            if not (counts and module.out_features in {1, *counts}):
                own = type(module).forward is not torch.nn.Linear.forward
                found.append(Matrix(name, transposed=False, own_forward=own))
        elif isinstance(module, Conv1D):
            found.append(Matrix(name, transposed=True))
        elif name in stacks:
            found += [e for e in expert_matrices(model) if e.parameter.startswith(f"{name}.")]
    return found


def expert_matrices(model: Any) -> Iterator[Expert]:
    """The stacked experts of every block: by the names that transformers gives them, or as many
    matrices as the configuration has experts."""
    from torch.nn.modules.conv import _ConvNd

    counts = expert_counts(model.config.get_text_config())
    for name, parameter in model.named_parameters():
        parent, _, own = name.rpartition(".")
        module = model.get_submodule(parent)
        count = getattr(module, "moe_num_experts", None)
        if parameter.dim() == 2 and count is not None:  # DBRX's
            yield Expert(name, int(count), "its experts lie behind each other in one matrix")
        if parameter.dim() != 3:
            continue
        unknown = parameter.shape[0] not in counts or isinstance(module, _ConvNd)
        if own not in STACK_NAMES and unknown:
            continue
        yield Expert(name, int(parameter.shape[0]), expert_problem(module))


def expert_counts(config: Any) -> set[int]:
    """Numbers of experts that a configuration names, whatever it calls them."""
    told = config.to_dict()
    inner = [value.items() for value in told.values() if isinstance(value, dict)]
    named = {
        value
        for items in (told.items(), *inner)
        for key, value in items
        if "expert" in str(key) and type(value) is int
    }
    return {value for value in named if value > 1}


def expert_problem(module: Any) -> str | None:
    """Why a block's experts cannot be taken apart into plain matrices; None where they can."""
    if not hasattr(module, "is_concatenated"):
        return "its class tells nothing of how its experts lie in the parameter"
    if module.is_transposed:
        return "its experts are stored as (in, out), stacked"
    return None if module.is_concatenated else "gate and up alternate in its rows"


def float_roles(model: Any) -> dict[str, str]:
    """What each parameter is, in a word, by its name in the model."""
    import torch
    from transformers.pytorch_utils import Conv1D

    embedding = model.get_input_embeddings()
    places = int(getattr(model.config.get_text_config(), "max_position_embeddings", 0) or 0)
    counts = {expert.count for expert in expert_matrices(model)}
    roles: dict[str, str] = {expert.parameter: "expert" for expert in expert_matrices(model)}
    for prefix, module in model.named_modules():
        for own, parameter in module.named_parameters(recurse=False):
            name = f"{prefix}.{own}" if prefix else own
            if name in roles:
                continue
            if isinstance(module, torch.nn.Embedding) and module is not embedding:
                known = "position" if module.num_embeddings >= places > 0 else "other"
                roles[name] = "embedding by layer" if prefix.endswith("per_layer") else known
            elif isinstance(module, (torch.nn.Linear, Conv1D)) and own == "bias":
                roles[name] = "bias"
            elif parameter.dim() == 1:
                roles[name] = "norm" if "norm" in type(module).__name__.lower() else "bias"
            elif counts and parameter.dim() == 2 and parameter.shape[0] in {1, *counts}:
                roles[name] = "router"
            else:
                roles[name] = "other"
    return roles
