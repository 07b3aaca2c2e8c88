"""Whether an architecture is a decoder that stands alone, and what of a model's files it does not
read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.file_names import filled_parameters, stored_names
from pare_backends.checkpoint.reading_on import STATE_ALONE, keeps_state_alone
from pare_backends.checkpoint.stored import Entry
from pare_backends.failures import CallFailure

CROSS_ATTENTION = re.compile(r"(^|\.)(encoder_attn|crossattention|cross_attention)$")
"""What transformers calls the attention of a decoder to an encoder's output."""
OWN_TOKENS = {
    "cpmant": "puts tokens of its own before every text, which its cache of keys does not count",
}
"""Families whose logits or caches are of more than the tokens that they are given."""


def check_decoder(directory: Path, model: Any) -> None:
    """Raises where an architecture writes no text word by word, keeps neither keys and values nor a
    state that is known here, or answers what an encoder has read, which is not here.

    model: the architecture, on whatever device
    """
    from transformers import MODEL_FOR_MASKED_LM_MAPPING

    config = model.config
    # BERT's kind is a decoder only where its configuration says so; BART's decoder says so itself.
    encoder = type(config) in MODEL_FOR_MASKED_LM_MAPPING and not (
        getattr(config, "is_decoder", True) or getattr(config, "is_encoder_decoder", False)
    )
    if encoder:
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: {config.model_type} is an encoder, in which each word sees"
            " those behind it, so that it writes no text (its config.json has no is_decoder: true)",
            hint="Give a causal language model",
        )
    attends = getattr(config.get_text_config(), "num_attention_heads", None)
    if not attends and not keeps_state_alone(model):
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: {config.model_type} has no attention (its config.json names"
            " no num_attention_heads), and of models without it pare knows"
            f" {', '.join(sorted(STATE_ALONE))}",
            hint="Give a model with attention, at least in some of its layers, or one of those",
        )
    crossed = next(
        (name for name, _ in model.named_modules() if CROSS_ATTENTION.search(name)), None
    )
    if crossed is not None:
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: {config.model_type} attends to what an encoder has read"
            f" ({crossed}), and pare measures and compresses decoders that stand alone",
            hint="Give a causal language model",
        )
    if config.model_type in OWN_TOKENS:
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: {config.model_type} {OWN_TOKENS[config.model_type]}",
            hint="Give a causal language model that reads its tokens and no more",
        )


def unread_note(model: Any, entries: Mapping[str, Entry]) -> list[str]:
    """What the files hold and the architecture, as a causal language model, has no place for, in
    words; nothing is said of buffers, which it makes for itself.

    model: the architecture, on whatever device
    """
    read = filled_parameters(model, stored_names(list(entries)))
    buffers = {name.rsplit(".", 1)[-1] for name, _ in model.named_buffers()}
    buffers |= {"inv_freq", "masked_bias"}
    other = [name for name in entries if name not in read and name.split(".")[-1] not in buffers]
    if not other:
        return []
    size = sum(math.prod(entries[name].shape) for name in other)
    whole = sum(math.prod(entry.shape) for entry in entries.values())
    more = f" and {len(other) - 1} other tensors" if len(other) > 1 else ""
    return [
        f"The files hold {other[0]}{more} ({size / whole:.1%} of all"
        f" values), which {type(model).__name__} does not read: left out, as transformers does"
    ]
