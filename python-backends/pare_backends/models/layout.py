"""Which tensors of an architecture are linear layers and which are its embedding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.load import meta_model


@dataclass(frozen=True)
class Layout:
    """Layers by name, such as model.layers.0.mlp.up_proj; the weight is `<layer>.weight`."""

    linear: tuple[str, ...]  # without the output head, in the order the model runs them
    embedding: str
    head: str | None  # the output head; None where it is the embedding

    def part(self, targets: str) -> tuple[str, ...]:
        """Layers that a method's `targets` names: linear, embedding (with the head) or all."""
        outer = (self.embedding,) if self.head is None else (self.embedding, self.head)
        return {"linear": self.linear, "embedding": outer, "all": (*self.linear, *outer)}[targets]


def layout_of(directory: str | Path) -> Layout:
    """Reads config.json and builds the model without weights, so it costs no memory."""
    return model_layout(meta_model(directory))


def model_layout(model: Any) -> Layout:
    """The layout of a built model."""
    import torch

    names = {id(module): name for name, module in model.named_modules()}
    embedding = model.get_input_embeddings()
    head = model.get_output_embeddings()
    tied = bool(getattr(model.config, "tie_word_embeddings", False))
    linear = tuple(
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module is not head
    )
    own_head = None if head is None or tied else names[id(head)]
    return Layout(linear, names[id(embedding)], own_head)


def missing_weights(layout: Layout, present: Mapping[str, object]) -> list[str]:
    """Layers whose weight the checkpoint does not hold under transformers' name."""
    return [name for name in layout.part("all") if f"{name}.weight" not in present]
