"""A checkpoint's configuration, and its architecture without weights."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.forms import CONFIG_KEYS

UNKNOWN_CONTEXT = 2048


def trusts_remote_code() -> bool:
    """Whether the user allowed a checkpoint's own Python code to run (`--trust-remote-code`)."""
    return os.environ.get("PARE_TRUST_REMOTE_CODE") == "1"


def load_config(directory: str | Path) -> Any:
    """The configuration of a checkpoint directory."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(
        str(directory), trust_remote_code=trusts_remote_code(), local_files_only=True
    )


def empty_model(directory: str | Path) -> Any:
    """The architecture of a checkpoint without its weights: costs no memory and little time."""
    import torch
    from transformers import AutoModelForCausalLM

    config = load_config(directory)
    for key in CONFIG_KEYS:
        if hasattr(config, key):
            delattr(config, key)
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, trust_remote_code=trusts_remote_code())


def words_of_text(config: Mapping[str, Any]) -> int:
    """Tokens that a text may have: Gemma 3n's last ones stand for pictures and sounds, and have no
    embeddings by layer, so that transformers reads them with such inputs alone."""
    words = int(config["vocab_size"])
    return min(words, int(config.get("vocab_size_per_layer_input") or words))


def context_length(config: Any) -> int:
    """How many tokens a model of this configuration reads and writes; where it does not say so,
    lm-eval's default."""
    text = config.get_text_config()
    # Bloom's positions have no end: it names the length that it was trained on.
    named = (getattr(text, name, None) for name in ("max_position_embeddings", "seq_length"))
    return int(next((length for length in named if length), UNKNOWN_CONTEXT))
