"""What a server can do, found by asking it: only what a task needs is tried, each once.

A server that ignores `echo` or `logprobs` says nothing of it, and one returns log-probabilities
that belong to the next token. So the answer's shape is checked, and its figures against each other:
the log-probability of a token as it is generated must come back when that token stands in a prompt.
"""

from __future__ import annotations

from typing import Any, Literal

from pare_backends.evaluation.served_client import Refused, ServedClient
from pare_backends.evaluation.served_requests import Echo, Prompt, Unlike, chat, echo, generate
from pare_backends.failures import StageFailure

PROBES = ("The capital of France is", "One two three four five six", "The sun rises in the")
AGREEMENT = 0.05
"""Nats by which a token's log-probability may differ between a generation and a prompt."""
ABSENT = (404, 405, 501)
Mode = Literal["tokens", "text"]


class ServerAbilities:
    """Asks the server what it can do. `tokenizer` None: prompts can only be sent as text."""

    def __init__(self, client: ServedClient, tokenizer: Any | None) -> None:
        self._client = client
        self._tokenizer = tokenizer
        self._scoring: Mode | StageFailure | None = None
        self._completes: bool | None = None
        self._takes_tokens: bool | None = None
        self._stops: bool | None = None

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

    def stops(self) -> bool:
        """Whether it takes stop sequences: `transformers serve` 5.17 answers 500 to any. Without,
        it writes on to the longest answer, which is cut where it is read."""
        if self._stops is None:
            write = generate if self.completes() else chat
            try:
                with self._client.one_try():
                    write(self._client, PROBES[0], 1, ["\n"], {})
                self._stops = True
            except StageFailure:
                self._stops = False
        return self._stops

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
        raise Unlike("its figures could not be checked: none is that of the token it generates")


def _generated_place(found: Echo, prompt: Prompt) -> int | None:
    """The place of the token that was generated after the prompt; None: there is none."""
    if isinstance(prompt, list):
        return len(prompt) if len(found.likelihoods) == len(prompt) + 1 else None
    if found.offsets is None:
        raise Unlike("it does not say where its tokens begin (text_offset is missing)")
    return next((i for i, start in enumerate(found.offsets) if start >= len(prompt)), None)


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
