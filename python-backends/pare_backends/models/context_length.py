"""How a configuration names the length of its context."""

from __future__ import annotations

from typing import Any

UNKNOWN_CONTEXT = 2048


def context_length(config: Any) -> int:
    """How many tokens a model of this configuration reads and writes; where it does not say so,
    lm-eval's default."""
    text = config.get_text_config()
    # Bloom's positions have no end: it names the length that it was trained on.
    named = (getattr(text, name, None) for name in ("max_position_embeddings", "seq_length"))
    return int(next((length for length in named if length), UNKNOWN_CONTEXT))
