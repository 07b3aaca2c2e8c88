"""What is asked of a server, and how its answers are read: nothing that is missing is filled in."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pare_backends.evaluation.served.client import ServedClient
from pare_backends.failures import CallFailure

Prompt = str | list[int]


@dataclass(frozen=True)
class Echo:
    """A prompt with the token generated after it. Letters: T tokens of both together."""

    likelihoods: list[float | None]  # [T] nats; None: the first, which nothing stands before
    best: list[float | None]  # [T] nats of the best token at the place
    tokens: list[str]  # [T] as the server writes them; none for a prompt of token ids
    offsets: list[int]  # [T] where each begins in the text; none for a prompt of token ids
    text: str
    """The whole text where the server gives it back, else what was generated."""


class Unlike(Exception):
    """An answer that is not what was asked for; says what is missing."""


def echo(client: ServedClient, prompt: Prompt) -> Echo:
    """The prompt's own log-probabilities, with one token more. Raises `Unlike` where the server
    gives anything else."""
    body = {"prompt": prompt, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}
    choice = only_choice(client, client.post("/completions", body))
    found = choice.get("logprobs")
    if not isinstance(found, dict) or not isinstance(found.get("token_logprobs"), list):
        raise Unlike("it answers without log-probabilities (logprobs is missing)")
    values: list[float | None] = found["token_logprobs"]
    tops = found.get("top_logprobs")
    if not isinstance(tops, list) or len(tops) != len(values):
        raise Unlike("it answers without the best tokens (top_logprobs is missing)")
    text = str(choice.get("text", ""))
    if isinstance(prompt, str) and not text.startswith(prompt):
        raise Unlike("it does not give the prompt back (echo is ignored)")
    if isinstance(prompt, list) and len(values) not in (len(prompt), len(prompt) + 1):
        raise Unlike(
            f"it gives {len(values)} log-probabilities for a prompt of {len(prompt)} tokens and "
            "one more: it does not give the prompt back (echo is ignored), or cuts it"
        )
    _require_numbers(values, client)
    best = [_best(value, top) for value, top in zip(values, tops, strict=True)]
    if isinstance(prompt, list):
        return Echo(values, best, [], [], text)
    tokens = _tokens(found, len(values))
    return Echo(values, best, tokens, _offsets(found, text, tokens), text)


def _offsets(found: dict[str, Any], text: str, tokens: list[str]) -> list[int]:
    """Where each token begins in the text. vLLM counts the letters of a special token that it puts
    before the prompt, though the text is given back without it."""
    offsets = found.get("text_offset")
    if (
        not isinstance(offsets, list)
        or len(offsets) != len(tokens)
        or not all(type(offset) is int for offset in offsets)
    ):
        raise Unlike("it does not say where its tokens begin (text_offset is missing)")
    ahead = len(tokens[0]) if tokens and not text.startswith(tokens[0].strip()) else 0
    return [max(0, offset - ahead) for offset in offsets]


def _tokens(found: dict[str, Any], count: int) -> list[str]:
    tokens = found.get("tokens")
    if not isinstance(tokens, list) or len(tokens) != count:
        raise Unlike("it does not say which tokens the text has (tokens is missing)")
    return [str(token) for token in tokens]


def _require_numbers(values: Sequence[float | None], client: ServedClient) -> None:
    for place, value in enumerate(values):
        if value is None and place == 0:
            continue
        if not _is_number(value):
            raise CallFailure(
                "not_a_number",
                f"Cannot score on {client.base_url}: the log-probability of token {place} is "
                f"{value!r:.40}",
            )


def _is_number(value: Any) -> bool:
    """JSON's 1e999 is read as an infinity, which no sum bears."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _best(value: float | None, top: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(top, dict) or not top:
        return math.inf
    if not all(map(_is_number, top.values())):
        raise Unlike("it answers with best tokens whose log-probabilities are no numbers")
    return max(value, *top.values())


def generate(
    client: ServedClient,
    prompt: Prompt,
    max_tokens: int,
    stop: list[str],
    options: dict[str, Any],
    prompt_tokens: int | None = None,
) -> str:
    """What the server writes after a prompt; fails where it stops before it may, or reads less
    than the prompt's tokens, where they are known."""
    body = {"prompt": prompt, **_decoding(max_tokens, stop, options)}
    answer = client.post("/completions", body)
    choice = only_choice(client, answer)
    _require_whole(client, answer, choice, prompt_tokens, max_tokens)
    _note_usage(client, prompt, answer)
    return _text_of(client, choice.get("text"))


def chat(
    client: ServedClient,
    prompt: str,
    max_tokens: int,
    stop: list[str],
    options: dict[str, Any],
    prompt_tokens: int | None = None,
) -> str:
    """What the server answers to the prompt as one message of a user. An answer whose content is
    null, as of a model that was still thinking when its tokens ran out, is empty and noted."""
    messages = [{"role": "user", "content": prompt}]
    body = {"messages": messages, **_decoding(max_tokens, stop, options)}
    answer = client.post("/chat/completions", body)
    choice = only_choice(client, answer)
    _require_whole(client, answer, choice, prompt_tokens, max_tokens)
    _note_usage(client, prompt, answer)
    message = choice.get("message")
    if isinstance(message, dict) and message.get("content", "") is None:
        client.silences.append(str(choice.get("finish_reason")))
        return ""
    return _text_of(client, message.get("content") if isinstance(message, dict) else None)


def _decoding(max_tokens: int, stop: list[str], options: dict[str, Any]) -> dict[str, Any]:
    decoding: dict[str, Any] = {"max_tokens": max_tokens, "temperature": 0, **options}
    if stop:
        decoding["stop"] = stop[:4]  # as many as the interface allows; the caller cuts the rest
    return decoding


def prompt_tokens(client: ServedClient, prompt: Prompt) -> int | None:
    """Tokens that the server counts in a prompt; None: it does not say."""
    body = {"prompt": prompt, **_decoding(1, [], {})}
    return count_of(client.post("/completions", body), "prompt_tokens")


def count_of(answer: dict[str, Any], name: str) -> int | None:
    """Tokens that the server counts, such as prompt_tokens; None: it does not say."""
    usage = answer.get("usage")
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) else None


def _note_usage(client: ServedClient, prompt: Prompt, answer: dict[str, Any]) -> None:
    read, written = count_of(answer, "prompt_tokens"), count_of(answer, "completion_tokens")
    if isinstance(prompt, str) and read is not None and written is not None:
        client.usage[prompt] = (read, written)


def _text_of(client: ServedClient, text: Any) -> str:
    if not isinstance(text, str):
        raise CallFailure(
            "endpoint", f"Cannot evaluate on {client.base_url}: it answers without a text"
        )
    return text


def only_choice(client: ServedClient, answer: dict[str, Any]) -> dict[str, Any]:
    """The first of its choices. Raises `CallFailure` where it has none."""
    choices = answer.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    if choices == []:
        found = "an empty list of choices"
    elif choices is None:
        found = f"no choices, but {', '.join(sorted(answer)) or 'nothing'}"[:160]
    else:
        found = "choices that hold no object"
    raise CallFailure("endpoint", f"Cannot evaluate on {client.base_url}: it answers with {found}")


def _require_whole(
    client: ServedClient,
    answer: dict[str, Any],
    choice: dict[str, Any],
    prompt_tokens: int | None,
    max_tokens: int,
) -> None:
    """A server of a short context cuts silently: the counts tell. One token less may be the one
    that begins a text, which not every server puts there."""
    written, read = count_of(answer, "completion_tokens"), count_of(answer, "prompt_tokens")
    if choice.get("finish_reason") == "length" and written is not None and written < max_tokens:
        raise _cut(client, f"its answer after {written} tokens of {max_tokens} asked for")
    if prompt_tokens is not None and read is not None and read < prompt_tokens - 1:
        raise _cut(client, f"the prompt to {read} tokens of {prompt_tokens}")


def _cut(client: ServedClient, what: str) -> CallFailure:
    """A failure of the task alone: another's texts may be short enough."""
    return CallFailure(
        "invalid",
        f"Cannot evaluate on {client.base_url}: it cuts {what}",
        hint="Start the server with a longer context (vLLM: --max-model-len, llama.cpp: --n_ctx)",
    )
