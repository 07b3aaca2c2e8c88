"""Losses that more than one family trains with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def next_token_loss(
    model: Any, batch: torch.Tensor, indices: Sequence[int]
) -> tuple[torch.Tensor, Mapping[str, float]]:
    """Cross entropy of every token but a window's first, in nats, the mean over all of them.

    batch: (windows, tokens) int64
    """
    return model(input_ids=batch, labels=batch, use_cache=False).loss, {}
