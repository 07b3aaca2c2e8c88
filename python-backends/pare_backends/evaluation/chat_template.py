"""Prompts in the model's chat template: only where a user asks for it, since a benchmark's figures
are published without. A base model has none, and an instruct model scores otherwise within it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint.chat_template import in_template
from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.failures import CallFailure

if TYPE_CHECKING:
    from pare_backends.evaluation.packed.language_model import PackedLM
    from pare_backends.evaluation.served.model import ServedLM

PROBE = "tangerine"


def use_chat_template(model: PackedLM | ServedLM, tokenizer: Any) -> None:
    """Lets every prompt be one message of a user, examples included, in the tokenizer's template;
    the template's hash becomes part of the protocol. Raises `CallFailure` where there is none."""
    template = getattr(tokenizer, "chat_template", None)
    name = getattr(tokenizer, "name_or_path", "") or "this model"
    if not template:
        raise CallFailure(
            "bad_input",
            f"Cannot put prompts in a chat template: the tokenizer of {name} has none",
            hint="Leave --chat-template out, or take the model's instruct version",
        )
    if PROBE not in in_template(tokenizer, [{"role": "user", "content": PROBE}]):
        raise CallFailure(
            "bad_input",
            f"Cannot use the chat template of {name}: it leaves out what a user says",
            hint="Leave --chat-template out, or mend the template in tokenizer_config.json",
        )
    model.templated = True
    model.prompting = f"chat template {content_hash(template)[:12]}"
