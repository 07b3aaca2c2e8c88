"""Reading on: what a model keeps of what it read, under the name that its class has for it.

A model without attention keeps a state alone. Its forward pass takes that as `cache_params`, and
takes `past_key_values` too, without a look at it.
"""

from __future__ import annotations

from typing import Any

STATE_ALONE = frozenset({"mamba", "falcon_mamba", "mamba2"})
"""model_type of what keeps no keys and values in any layer."""
ONE_BY_ONE = frozenset({"mamba", "falcon_mamba", "jamba", "zamba"})
"""Whose scan of several tokens begins at no state, whatever was read before: transformers' kernels
take none there (modeling_mamba.py). One token goes on from the state."""


def keeps_state_alone(model: Any) -> bool:
    """Whether no layer of a model keeps keys and values."""
    return model.config.model_type in STATE_ALONE


def reads_one_by_one(model: Any) -> bool:
    """Whether what follows a text that was read must be read a token at a time."""
    return model.config.get_text_config().model_type in ONE_BY_ONE


def is_changed_by_padding(model: Any) -> bool:
    """Whether tokens of padding before a text change what is said of it: the bias that a mixer adds
    to its inputs is added to theirs, behind the mask, and the convolution reads that."""
    return keeps_state_alone(model) and bool(model.config.use_bias)


def read_on(model: Any, tokens: Any, kept: Any) -> tuple[Any, Any]:
    """Reads tokens after what was read before. tokens: (B, T) int64; kept: as this gave it back,
    None: nothing was read

    returns: (logits after the last one (B, vocabulary), what is kept of all that was read)
    """
    name = "cache_params" if keeps_state_alone(model) else "past_key_values"
    steps = kept is not None and reads_one_by_one(model)
    for part in tokens.split(1 if steps else tokens.shape[1], dim=1):
        output = model(part, **{name: kept}, use_cache=True, logits_to_keep=1)
        kept = output[name]
    return output.logits[:, -1], kept
