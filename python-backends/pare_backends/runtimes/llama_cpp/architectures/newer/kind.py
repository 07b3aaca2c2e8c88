"""The name of an architecture in llama.cpp, and those of its tensors, where gguf-py has neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, MODEL_TENSOR, TENSOR_NAMES, get_tensor_name_map


@dataclass(frozen=True)
class NewerKind:
    """An architecture that gguf-py does not name, by one whose tensors are named alike."""

    name: str  # in llama.cpp
    like: MODEL_ARCH
    tensors: Mapping[str, MODEL_TENSOR | str] = field(default_factory=dict)
    # of a layer that it has besides, by their names in it, such as self_attn.sinks; a word: what
    # the file calls them, with {bid} for the layer's number
    outer: Mapping[str, str] = field(default_factory=dict)  # names in the file of those of none


Kind = MODEL_ARCH | NewerKind


class TensorNames:
    """What a file calls the tensors of a checkpoint."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def get_name(self, tensor: str, endings: Sequence[str]) -> str | None:
        """endings: of names that the file has alike, such as .weight"""
        for ending in ("", *endings):
            if tensor.endswith(ending):
                found = self._names.get(tensor.removesuffix(ending))
                if found is not None:
                    return found + ending
        return None


def name_of(kind: Kind) -> str:
    return kind.name if isinstance(kind, NewerKind) else MODEL_ARCH_NAMES[kind]


def tensor_names(kind: Kind, layers: int) -> TensorNames:
    """Those of a checkpoint of so many layers."""
    like = kind.like if isinstance(kind, NewerKind) else kind
    known = get_tensor_name_map(like, layers)
    names = {own: there for own, (_, there) in known.mapping.items()}
    if isinstance(kind, NewerKind):
        names |= kind.outer
        for layer in range(layers):
            for own, tensor in kind.tensors.items():
                there = tensor if isinstance(tensor, str) else TENSOR_NAMES[tensor]
                names[f"model.layers.{layer}.{own}"] = there.format(bid=layer)
    return TensorNames(names)
