"""What a model and its tokenizer must have for a task: each refusal in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pare_backends.failures import CallFailure


def require_window(task: str, tokens: int, context: int | None) -> None:
    """Raises where the model reads fewer tokens than a window has; None: it is not known."""
    if context is not None and tokens > context:
        raise CallFailure(
            "bad_input",
            f"Cannot measure {task} in windows of {tokens} tokens: the model reads {context}",
        )


def require_room(task: str, new_tokens: int, context: int) -> None:
    """Raises where the model has no room for what is to be generated."""
    if new_tokens >= context:
        raise CallFailure(
            "bad_input",
            f"Cannot generate {new_tokens} tokens for {task}: "
            f"the model reads and writes {context} in all",
        )


def require_definition_fits(task: str, definition: Mapping[str, Any], context: int | None) -> None:
    """Raises where the model has no room for what the task's document lets it generate."""
    if context is not None and definition.get("output_type") == "generate_until":
        asked = (definition.get("generation_kwargs") or {}).get("max_gen_toks", 0)
        require_room(task, int(asked), context)


def require_markers(tokenizer: Any) -> None:
    """Raises where the tokenizer knows no token that could stand before a text."""
    if tokenizer.bos_token_id is None and tokenizer.eos_token_id is None:
        raise CallFailure(
            "bad_input",
            "Cannot evaluate with this model's tokenizer: it names neither a beginning nor an end "
            "of text",
            hint="Set bos_token or eos_token in its tokenizer_config.json",
        )


def require_end(task: str, tokenizer: Any) -> None:
    """Raises where the tokenizer knows no end of a text, at which a generation could stop."""
    if tokenizer.eos_token_id is None:
        raise CallFailure(
            "bad_input",
            f"Cannot generate for {task}: the model's tokenizer names no end of text",
            hint="Set eos_token in its tokenizer_config.json",
        )
