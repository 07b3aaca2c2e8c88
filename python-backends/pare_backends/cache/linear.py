"""Layers whose state does not grow: in versions of transformers that have none, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers.cache_utils import LinearAttentionLayer
else:
    try:
        from transformers.cache_utils import LinearAttentionLayer
    except ImportError:  # before 5.6 no cache holds any

        class LinearAttentionLayer:
            """No layer is one."""

            conv_states: dict[int, Any]
            recurrent_states: dict[int, Any]


__all__ = ["LinearAttentionLayer"]
