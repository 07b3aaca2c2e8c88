"""What a server can do, found by asking it: only what a task needs is tried, each once.

A server that ignores `echo` or `logprobs` says nothing of it, and one returns log-probabilities
that belong to the next token. So the answer's shape is checked, and its figures against each other:
the log-probability of a token as it is generated must come back when that token stands in a prompt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pare_backends.evaluation.served_client import Refused, ServedClient
from pare_backends.failures import StageFailure

PROBES = ("The capital of France is", "One two three four five six", "The sun rises in the")
AGREEMENT = 0.05
"""Nats by which a token's log-probability may differ between a generation and a prompt."""
ABSENT = (404, 405, 501)
Mode = Literal["tokens", "text"]
Prompt = str | list[int]


@dataclass(frozen=True)
class Echo:
    """A prompt with the token generated after it. Letters: T tokens of both together."""

    likelihoods: list[float | None]  # [T] nats; None: the first, which nothing stands before
    best: list[float | None]  # [T] nats of the best token at the place
    offsets: list[int] | None  # [T] where each begins in the text; None: the server does not say
    text: str
    """The whole text where the server gives it back, else what was generated."""


class Unlike(Exception):
    """An answer that is not what was asked for; says what is missing."""


class ServerAbilities:
    """Asks the server what it can do. `tokenizer` None: prompts can only be sent as text."""

    def __init__(self, client: ServedClient, tokenizer: Any | None) -> None:
        self._client = client
        self._tokenizer = tokenizer
        self._scoring: Mode | StageFailure | None = None
        self._completes: bool | None = None
        self._takes_tokens: bool | None = None

    def completes(self) -> bool:
        """Whether it has /completions; a user may choose chat by `api`."""
        if self._client.endpoint.api == "chat":
            return False
        if self._completes is None:
            self._completes = self._answers(PROBES[0])
        return self._completes

    def takes_tokens(self) -> bool:
        """Whether /completions takes a prompt as token ids, which no server can tokenize anew."""
        if self._takes_tokens is None:
            self._takes_tokens = self._tokenizer is not None and self._answers(
                self._tokenizer.encode(PROBES[0])
            )
        return self._takes_tokens

    def _answers(self, prompt: Prompt) -> bool:
        try:
            generate(self._client, prompt, 1, [], {})
        except Refused as refused:
            if isinstance(prompt, str) and refused.status not in ABSENT:
                raise
            return False
        return True

    def scoring(self) -> Mode:
        """How log-probabilities of a given text can be had. Raises `StageFailure` ("invalid") with
        the reason where they cannot."""
        if self._scoring is None:
            self._scoring = self._find_scoring()
        if isinstance(self._scoring, StageFailure):
            raise self._scoring
        return self._scoring

    def _find_scoring(self) -> Mode | StageFailure:
        if not self.completes():
            why = "it has no /completions, and a chat gives none of a given text"
            return self._cannot(why)
        reasons: list[str] = []
        modes: tuple[Mode, ...] = ("tokens", "text") if self.takes_tokens() else ("text",)
        for mode in modes:
            try:
                self._check(mode)
                return mode
            except (Unlike, Refused) as error:
                reasons.append(str(error))
        return self._cannot(reasons[-1])

    def _cannot(self, why: str) -> StageFailure:
        return StageFailure(
            "invalid",
            f"Cannot take log-probabilities from {self._client.base_url}: {why}",
            hint="Multiple choice and perplexity need /completions with echo and logprobs",
        )

    def _check(self, mode: Mode) -> None:
        """Raises `Unlike` where the figures do not fit together: the best token after a text has
        the same log-probability where it is generated and where the text goes on otherwise."""
        for text in PROBES:
            whole: Prompt = text
            start: Prompt = text.rsplit(" ", 1)[0]
            if mode == "tokens":
                whole = self._tokenizer.encode(text)  # type: ignore[union-attr]
                start = whole[:-1]
            first, second = echo(self._client, start), echo(self._client, whole)
            border = _generated_place(first, start)
            if border is None or border >= len(second.best) - 1:
                continue  # it ended the text there: nothing to compare
            generated, given = first.likelihoods[border], second.best[border]
            if generated is None or given is None or abs(generated - given) > AGREEMENT:
                raise Unlike(
                    f"the best token after {text.rsplit(' ', 1)[0]!r} has the log-probability "
                    f"{_shown(generated)} where it is generated and {_shown(given)} in a longer "
                    "prompt: the server's figures belong to other tokens"
                )
            return
        raise Unlike("its figures could not be checked, as it generates nothing after plain text")


def _generated_place(found: Echo, prompt: Prompt) -> int | None:
    """The place of the token that was generated after the prompt; None: there is none."""
    if isinstance(prompt, list):
        return len(prompt) if len(found.likelihoods) == len(prompt) + 1 else None
    if found.offsets is None:
        raise Unlike("it does not say where its tokens begin (text_offset is missing)")
    return next((i for i, start in enumerate(found.offsets) if start >= len(prompt)), None)


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def echo(client: ServedClient, prompt: Prompt) -> Echo:
    """The prompt's own log-probabilities, with one token more. Raises `Unlike` where the server
    gives anything else."""
    body = {"prompt": prompt, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}
    choice = _choice(client.post("/completions", body))
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
        raise Unlike(f"it gives {len(values)} log-probabilities for {len(prompt)} tokens and one")
    offsets = found.get("text_offset")
    _require_numbers(values, client)
    return Echo(
        likelihoods=values,
        best=[_best(v, top) for v, top in zip(values, tops, strict=True)],
        offsets=offsets if isinstance(offsets, list) and len(offsets) == len(values) else None,
        text=text,
    )


def _require_numbers(values: Sequence[float | None], client: ServedClient) -> None:
    for place, value in enumerate(values):
        if value is None and place == 0:
            continue
        if not isinstance(value, (int, float)) or math.isnan(value):
            raise StageFailure(
                "not_a_number",
                f"Cannot score on {client.base_url}: the log-probability of token {place} is "
                f"{value}",
            )


def _best(value: float | None, top: Any) -> float | None:
    if value is None:
        return None
    return max(value, *top.values()) if isinstance(top, dict) and top else math.inf


def generate(
    client: ServedClient, prompt: Prompt, max_tokens: int, stop: list[str], options: dict[str, Any]
) -> str:
    """What the server writes after a prompt; fails where it stops before it may."""
    body: dict[str, Any] = {"prompt": prompt, "max_tokens": max_tokens, "temperature": 0, **options}
    if stop:
        body["stop"] = stop[:4]  # as many as the interface allows; the rest is cut by the caller
    answer = client.post("/completions", body)
    choice = _choice(answer)
    _require_whole(client, answer, choice, prompt, max_tokens)
    return _text_of(client, choice.get("text"))


def chat(
    client: ServedClient, prompt: str, max_tokens: int, stop: list[str], options: dict[str, Any]
) -> str:
    """What the server answers to the prompt as one message of a user."""
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "temperature": 0,
        **options,
    }
    if stop:
        body["stop"] = stop[:4]
    answer = client.post("/chat/completions", body)
    choice = _choice(answer)
    _require_whole(client, answer, choice, prompt, max_tokens)
    message = choice.get("message")
    return _text_of(client, message.get("content") if isinstance(message, dict) else None)


def _text_of(client: ServedClient, text: Any) -> str:
    if not isinstance(text, str):
        raise StageFailure(
            "endpoint", f"Cannot evaluate on {client.base_url}: it answers without a text"
        )
    return text


def _choice(answer: dict[str, Any]) -> dict[str, Any]:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise StageFailure(
            "endpoint", f"Cannot read the server's answer: it has no choices, but {sorted(answer)}"
        )
    return choices[0]


def _require_whole(
    client: ServedClient,
    answer: dict[str, Any],
    choice: dict[str, Any],
    prompt: Prompt,
    max_tokens: int,
) -> None:
    """A server of a short context cuts silently: the counts tell."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return
    written, read = usage.get("completion_tokens"), usage.get("prompt_tokens")
    ended = max_tokens if choice.get("finish_reason") != "length" else written
    if isinstance(ended, int) and ended < max_tokens:
        raise _cut(client, f"its answer after {written} tokens of {max_tokens} asked for")
    if isinstance(prompt, list) and isinstance(read, int) and read < len(prompt):
        raise _cut(client, f"the prompt to {read} tokens of {len(prompt)}")


def _cut(client: ServedClient, what: str) -> StageFailure:
    return StageFailure(
        "endpoint",
        f"Cannot evaluate on {client.base_url}: it cuts {what}",
        hint="Start the server with a longer context (vLLM: --max-model-len, llama.cpp: --n_ctx)",
    )
