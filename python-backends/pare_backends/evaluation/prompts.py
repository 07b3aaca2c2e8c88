"""How a task says that its prompts are made: what they lose where they are too long, and whether
they may stand in a chat template.

A definition's metadata says so: `cut: middle`, `chat_template: false`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pare_backends.evaluation.task_needs import require_room
from pare_backends.evaluation.tasks.wire_task import WireTask

if TYPE_CHECKING:
    from pare_backends.evaluation.packed.language_model import PackedLM
    from pare_backends.evaluation.served.model import ServedLM


def in_template(task: WireTask, model: PackedLM | ServedLM) -> bool:
    """Whether the task's prompts stand in the model's chat template: where that is asked for,
    unless the task's own protocol is without."""
    return model.templated and _said(task).get("chat_template") is not False


def prompting(task: WireTask, model: PackedLM | ServedLM) -> str:
    """How the task's prompts were changed on their way; empty: they were not."""
    return "" if model.templated and not in_template(task, model) else model.prompting


def shortener(task: WireTask, model: PackedLM | ServedLM) -> Callable[[str], str] | None:
    """What makes the task's prompts fit the model; None: they stand as they are. A server does not
    say how much it reads, so that a prompt is sent to it whole."""
    limit = getattr(model, "max_length", None)
    if _said(task).get("cut") != "middle" or limit is None:
        return None
    kwargs = (task.definition or {}).get("generation_kwargs") or {}
    new_tokens = int(kwargs.get("max_gen_toks", 0))
    require_room(task.task, new_tokens, limit)
    return MiddleCut(model, limit - new_tokens, in_template(task, model))


def _said(task: WireTask) -> Mapping[str, Any]:
    return (task.definition or {}).get("metadata") or {}


class MiddleCut:
    """Takes tokens out of the middle of a prompt that is too long, as LongBench does: its first and
    its last tokens are decoded, so many of both, and joined. Chat template and all it then fits."""

    def __init__(self, model: Any, most: int, templated: bool) -> None:
        self._model = model
        self._most = most
        """Tokens of a prompt as it is read, its chat template included."""
        self._templated = templated
        self._made: dict[str, str] = {}

    def __call__(self, prompt: str) -> str:
        """The prompt, or what is left of it; the model is told how much it lost."""
        if prompt not in self._made:
            self._made[prompt] = self._fitted(prompt)
        return self._made[prompt]

    def _fitted(self, prompt: str) -> str:
        tokenizer, text = self._model.tokenizer, prompt
        tokens = tokenizer(prompt, truncation=False).input_ids
        kept, over = len(tokens), self._over(text)
        while over > 0 and kept > 2:
            # Where head and tail meet, and at a cut character, tokens may be others than before.
            kept = max(2, kept - over)
            text = cut_middle(tokenizer, tokens, kept // 2)
            over = self._over(text)
        if text != prompt:
            self._model.note_cut(self._whole(text), len(tokens) - 2 * (kept // 2))
        return text

    def _whole(self, text: str) -> str:
        """The prompt as the model is asked it."""
        if not self._templated:
            return text
        return str(self._model.apply_chat_template([{"role": "user", "content": text}]))

    def _over(self, text: str) -> int:
        return len(self._model.tok_encode(self._whole(text))) - self._most


def cut_middle(tokenizer: Any, tokens: list[int], half: int) -> str:
    """The first and the last `half` tokens as a text."""
    head, tail = tokens[:half], tokens[len(tokens) - half :]
    return "".join(str(tokenizer.decode(part, skip_special_tokens=True)) for part in (head, tail))
