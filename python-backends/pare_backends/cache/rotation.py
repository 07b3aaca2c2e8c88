"""How a model turns queries and keys by their tokens' places, what undoes it, and its mean."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from pare_backends.failures import CallFailure


class Rotation:
    """A rotary embedding whose pairs are a head's first and second half, as most models have it. A
    model without one (`module` None) turns nothing."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.known = True
        """Whether it was found to undo what the model does: `attach_policy` tries."""

    @property
    def turns(self) -> bool:
        """Whether the model turns anything."""
        return self._module is not None

    def require(self) -> None:
        """Raises where a method needs what the model does in a way that is not known here."""
        if not self.known:
            raise CallFailure(
                "invalid",
                f"Cannot undo how {type(self._module).__name__} turns queries by their places: "
                "tried on equal tokens, what undoes it leaves them unequal",
                hint="Take a method that needs no queries of other places",
            )

    def _at(
        self, places: torch.Tensor, like: torch.Tensor, kind: str = "full_attention"
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(T, R) each, of a head's first R features. kind: of the layer, where they differ"""
        takes = "layer_type" in inspect.signature(self._module.forward).parameters
        kinds = [kind] if takes else []
        cos, sin = self._module(like, places[None].to(like.device), *kinds)
        return cos[0].to(like.dtype), sin[0].to(like.dtype)

    def undone(
        self, states: torch.Tensor, places: torch.Tensor, kind: str = "full_attention"
    ) -> torch.Tensor:
        """As the states were before their places turned them. states: (..., T, D), places: (T,)"""
        if self._module is None:
            return states
        cos, sin = self._at(places, states, kind)
        length = cos**2 + sin**2  # not 1 where a long context is scaled
        return _turned(states, cos / length, -sin / length)

    def mean(self, states: torch.Tensor, first: int, count: int) -> torch.Tensor:
        """The mean over so many places from the first on. states: (..., D), turned by none"""
        if self._module is None:
            return states
        cos, sin = self._at(torch.arange(first, first + count), states)
        return _turned(states, cos.mean(dim=0), sin.mean(dim=0))


def _turned(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Each pair of features by its angle; those beyond the last angle stay."""
    own, rest = states[..., : cos.shape[-1]], states[..., cos.shape[-1] :]
    one, other = own.chunk(2, dim=-1)
    return torch.cat([own * cos + torch.cat([-other, one], dim=-1) * sin, rest], dim=-1)


def rotation_of(model: Any) -> Rotation:
    """The rotary embedding of a model; one of nothing where it has none."""
    found = [one for name, one in model.named_modules() if name.split(".")[-1] == "rotary_emb"]
    rotation = Rotation(found[0] if found else None)
    rotation.known = len(found) <= 1
    return rotation
