"""The name of an architecture in llama.cpp, and those of its tensors, where gguf-py has neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gguf import (
    MODEL_ARCH,
    MODEL_ARCH_NAMES,
    MODEL_TENSOR,
    TENSOR_NAMES,
    TensorNameMap,
    get_tensor_name_map,
)


@dataclass(frozen=True)
class NewerKind:
    """An architecture that gguf-py does not name, by one whose tensors are named alike."""

    name: str  # in llama.cpp
    like: MODEL_ARCH
    tensors: Mapping[str, MODEL_TENSOR] = field(default_factory=dict)
    # of a layer that it has besides, by their names in it, such as self_attn.sinks


Kind = MODEL_ARCH | NewerKind


def name_of(kind: Kind) -> str:
    return kind.name if isinstance(kind, NewerKind) else MODEL_ARCH_NAMES[kind]


def tensor_names(kind: Kind, layers: int) -> TensorNameMap:
    """What a file calls the tensors of a checkpoint of so many layers."""
    if not isinstance(kind, NewerKind):
        return get_tensor_name_map(kind, layers)
    names = get_tensor_name_map(kind.like, layers)
    for layer in range(layers):
        for own, tensor in kind.tensors.items():
            held = TENSOR_NAMES[tensor].format(bid=layer)
            names.mapping[f"model.layers.{layer}.{own}"] = (tensor, held)
    return names
