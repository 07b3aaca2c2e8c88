"""What a server can do, found by asking it: only what a task needs is tried, each once.

A server that ignores `echo` or `logprobs` says nothing of it, and one returns log-probabilities
that belong to the next token. So the answer's shape is checked, and its figures against each other:
the log-probability of a token as it is generated must come back when that token stands in a prompt.
"""

from __future__ import annotations

from typing import Any, Literal

from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.requests import (
    Echo,
    Prompt,
    Unlike,
    chat,
    echo,
    generate,
    prompt_tokens,
)
from pare_backends.evaluation.served.transport import Refused
from pare_backends.failures import CallFailure

PROBES = (
    "The capital of France is seven",
    "One two three four five apples",
    "The sun rises in the kitchen",
)
"""Each ends in a word that no model expects there, so that another token is the best."""
RICH = "Antidisestablishmentarianism: 31415 naïve zebras, and <tag> f(x) = x**2; the end."
"""Tokenizers differ on it by more than a token."""
AGREEMENT = 0.05
"""Nats by which a token's log-probability may differ between a generation and a prompt."""
UNPENALIZED = {"repeat_penalty": 1.0, "repetition_penalty": 1.0}
"""What says in llama.cpp and in vLLM that a repeated token is as good as a new one. Unasked,
llama-cpp-python's server divides its logit by 1.1, and vLLM does what generation_config.json says:
that is not greedy decoding."""
ABSENT = (404, 405, 501)
Mode = Literal["tokens", "text"]


class ServerAbilities:
    """Asks the server what it can do. `tokenizer` None: prompts can only be sent as text."""

    def __init__(self, client: ServedClient, tokenizer: Any | None) -> None:
        self._client = client
        self._tokenizer = tokenizer
        self._scoring: Mode | CallFailure | None = None
        self._completes: bool | None = None
        self._takes_tokens: bool | None = None
        self._stops: bool | None = None
        self._unpenalized: dict[str, float] | None = None

    def completes(self) -> bool:
        """Whether it has /completions; a user may choose chat by `api`."""
        if self._client.endpoint.api != "auto":
            return False
        if self._completes is None:
            try:
                generate(self._client, PROBES[0], 1, [], {})
                self._completes = True
            except Refused as refused:
                if refused.status not in ABSENT:
                    raise
                self._completes = False
        return self._completes

    def takes_tokens(self) -> bool:
        """Whether /completions takes a prompt as token ids, which no server can tokenize anew.
        Raises `CallFailure` where its tokenizer is another than the one given."""
        if self._takes_tokens is None:
            self._takes_tokens = self._tokenizer is not None and self._reads_tokens()
        return self._takes_tokens

    def _reads_tokens(self) -> bool:
        tokens = self._tokenizer.encode(RICH)  # type: ignore[union-attr]
        try:
            # llama-cpp-python answers 500 to token ids: that is no passing trouble.
            with self._client.transport.one_try():
                prompt_tokens(self._client, tokens)
        except CallFailure:
            return False
        counted = prompt_tokens(self._client, RICH)
        if counted is not None and abs(counted - len(tokens)) > 1:  # one may begin the text
            raise CallFailure(
                "bad_input",
                f"Cannot send token ids to {self._client.base_url}: it splits a text into "
                f"{counted} tokens that --tokenizer splits into {len(tokens)}",
                hint="Name the served model's own tokenizer by --tokenizer, or leave it out",
            )
        return True

    def stops(self) -> bool:
        """Whether it takes stop sequences: `transformers serve` 5.17 answers 500 to any. Without,
        it writes on to the longest answer, which is cut where it is read."""
        if self._stops is None:
            write = generate if self.completes() else chat
            try:
                with self._client.transport.one_try():
                    write(self._client, PROBES[0], 1, ["\n"], {})
                self._stops = True
            except CallFailure:
                self._stops = False
        return self._stops

    def unpenalized(self) -> dict[str, float]:
        """Options of a generation without a penalty on repetition: those that the server takes."""
        if self._unpenalized is None:
            write = generate if self.completes() else chat
            taken: dict[str, float] = {}
            for name, value in UNPENALIZED.items():
                try:
                    write(self._client, PROBES[0], 1, [], {name: value})
                    taken[name] = value
                except Refused:
                    pass  # it knows no such option
            self._unpenalized = taken
        return self._unpenalized

    def scoring(self) -> Mode:
        """How log-probabilities of a given text can be had. Raises `CallFailure` ("invalid") with
        the reason where they cannot."""
        if self._scoring is None:
            self._scoring = self._find_scoring()
        if isinstance(self._scoring, CallFailure):
            raise self._scoring
        return self._scoring

    def _find_scoring(self) -> Mode | CallFailure:
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

    def _cannot(self, why: str) -> CallFailure:
        return CallFailure(
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
            generated, own = first.likelihoods[border], second.likelihoods[border]
            if _agree(generated, own):
                continue  # the text goes on by that very token: any figure would do
            _require_best(generated, own, second.best[border], text)
            return
        raise Unlike("its figures could not be checked: none is that of the token it generates")


def _agree(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= AGREEMENT


def _require_best(
    generated: float | None, own: float | None, best: float | None, text: str
) -> None:
    """Fails unless the token that is generated is the best where the text goes on otherwise."""
    if _agree(generated, best):
        return
    if best is not None and best == own:
        raise Unlike(
            "it tells the log-probability of each token but not of the best one beside it "
            "(top_logprobs holds too few), so a wrong answer would count as the greedy one"
        )
    raise Unlike(
        f"the best token after {text.rsplit(' ', 1)[0]!r} has the log-probability "
        f"{_shown(generated)} where it is generated and {_shown(best)} in a longer "
        "prompt: the server's figures belong to other tokens"
    )


def _generated_place(found: Echo, prompt: Prompt) -> int | None:
    """The place of the token that was generated after the prompt; None: there is none."""
    if isinstance(prompt, list):
        return len(prompt) if len(found.likelihoods) == len(prompt) + 1 else None
    return next((i for i, start in enumerate(found.offsets) if start >= len(prompt)), None)


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
