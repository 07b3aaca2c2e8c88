"""What was written as OpenAI's interface has it: completions, chats, and parts of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pare_backends.serving.asked import Asked
from pare_backends.serving.reader import Served
from pare_backends.serving.writing import Likelihood, Written


def completion_choice(
    served: Served, asked: Asked, index: int, echoed: Sequence[Likelihood], written: Written
) -> dict[str, Any]:
    """One answer of /completions. echoed: tokens of the prompt; none where it is not given back."""
    prompt = asked.texts[index] if asked.echo else ""
    told = None
    if asked.tells:
        offsets = _offsets(served, asked, index) if asked.echo else []
        offsets += [len(prompt) + place for place in written.places]
        told = _told(served, [*echoed, *written.tokens], offsets)
    return {
        "index": index,
        "text": prompt + written.text,
        "logprobs": told,
        "finish_reason": written.finish,
    }


def chat_choice(served: Served, asked: Asked, written: Written) -> dict[str, Any]:
    """One answer of /chat/completions."""
    return {
        "index": 0,
        "message": {"role": "assistant", "content": written.text},
        "logprobs": chat_told(served, written.tokens) if asked.tells else None,
        "finish_reason": written.finish,
    }


def chat_told(served: Served, tokens: Sequence[Likelihood]) -> dict[str, Any]:
    """Log-probabilities in the form of a chat."""
    return {
        "content": [
            {
                **_spelled(served, one.token, one.value),
                "top_logprobs": [_spelled(served, token, value) for token, value in one.best],
            }
            for one in tokens
        ]
    }


def counts(asked: Asked, written: Sequence[Written]) -> dict[str, int]:
    """Tokens read and written."""
    read = sum(map(len, asked.prompts))
    made = sum(len(one.tokens) for one in written)
    return {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}


def _told(
    served: Served, tokens: Sequence[Likelihood], offsets: Sequence[int]
) -> dict[str, list[Any]]:
    return {
        "tokens": [_spelling(served, one.token) for one in tokens],
        "token_logprobs": [one.value for one in tokens],
        "top_logprobs": [_top(served, one) for one in tokens],
        "text_offset": list(offsets),
    }


def _top(served: Served, one: Likelihood) -> dict[str, float] | None:
    """By spelling; of two tokens with one spelling the better stands."""
    if one.value is None:
        return None
    found: dict[str, float] = {}
    for token, value in one.best:
        found.setdefault(_spelling(served, token), value)
    return found


def _spelling(served: Served, token: int) -> str:
    return str(served.tokenizer.decode([token]))


def _spelled(served: Served, token: int, value: float | None) -> dict[str, Any]:
    spelling = _spelling(served, token)
    return {"token": spelling, "logprob": value, "bytes": list(spelling.encode())}


def _offsets(served: Served, asked: Asked, index: int) -> list[int]:
    """Where each token of a prompt begins in its text."""
    tokens, text = asked.prompts[index], asked.texts[index]
    tokenizer = served.tokenizer
    if getattr(tokenizer, "is_fast", False):
        found = tokenizer(text, return_offsets_mapping=True)
        if list(found["input_ids"]) == tokens:
            return [int(start) for start, _ in found["offset_mapping"]]
    offsets, spelled = [], 0
    for place in range(len(tokens)):
        offsets.append(spelled)
        spelled = len(tokenizer.decode(tokens[: place + 1]))
    return offsets
