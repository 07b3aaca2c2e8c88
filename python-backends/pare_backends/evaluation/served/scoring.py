"""Log-likelihoods by a server, of lm-eval's requests and of windows of tokens."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from lm_eval.api.model import TemplateLM

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.jobs import Job, answer_all
from pare_backends.evaluation.served.probe import ServerAbilities
from pare_backends.evaluation.served.requests import Echo, Prompt, Unlike, echo
from pare_backends.failures import CallFailure
from pare_backends.progress import Report

T = TypeVar("T")


class ServedScorer(TemplateLM):
    """A model behind an endpoint. `label` names the task in progress events; `tokenizer` None:
    prompts are sent as text."""

    def __init__(
        self,
        client: ServedClient,
        tokenizer: Any | None,
        report: Report,
        answers: Answers | None = None,
    ) -> None:
        super().__init__()
        self.client = client
        self.tokenizer = tokenizer
        self.abilities = ServerAbilities(client, tokenizer)
        self.answers = answers or Answers()
        self.label = "evaluate"
        self.asked = 0
        """Requests and generations asked for so far."""
        self.templated = False
        """Whether prompts stand in the tokenizer's chat template."""
        self.prompting = ""
        """How prompts were changed on their way, where they were: part of the protocol."""
        self.evict_after = ""
        """As `PackedScorer` has it: the cache of a served model is not cut."""
        self._report = report
        self._seconds: dict[tuple[str, str], float] = {}

    @property
    def report(self) -> Report:
        """Where progress is told."""
        return self._report

    @property
    def eot_token_id(self) -> int:
        return int(self._tokens().eos_token_id)

    @property
    def prefix_token_id(self) -> int:
        """Stands before a text that has no context, as in HFLM."""
        first = self._tokens().bos_token_id
        return self.eot_token_id if first is None else int(first)

    @property
    def tokenizer_name(self) -> str:
        return "" if self.tokenizer is None else str(self.tokenizer.name_or_path)

    def _tokens(self) -> Any:
        if self.tokenizer is None:
            raise CallFailure(
                "invalid",
                f"Cannot score {self.label} on {self.client.base_url}: it needs tokens",
                hint="Give the model's tokenizer by --tokenizer",
            )
        return self.tokenizer

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, **kwargs: Any
    ) -> list[int]:
        special = {} if add_special_tokens is None else {"add_special_tokens": add_special_tokens}
        if add_special_tokens is None and string.startswith(
            self._tokens().decode(self.prefix_token_id)
        ):
            special = {"add_special_tokens": False}
        return list(self._tokens().encode(string, **special))

    def seconds_of(self, sample: dict[str, Any]) -> float | None:
        """What a logged sample's requests took, one beside others; None: not known."""
        pairs = [(asked[0], str(asked[1])) for asked in sample["arguments"]]
        known = [self._seconds[pair] for pair in pairs if pair in self._seconds]
        return math.fsum(known) if pairs and len(known) == len(pairs) else None

    def cut_tokens_of(self, sample: dict[str, Any]) -> int | None:
        """Tokens of the longest input that the server left out: none where they were counted, as a
        server that cuts is refused; None: not known of a text."""
        return 0 if self.abilities.takes_tokens() else None

    def kept_of(self, sample: dict[str, Any]) -> None:
        """A server does not tell what it keeps of a context."""

    def loglikelihood(
        self, requests: list[Any], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Nats of each continuation after its context, and whether greedy decoding gives it."""
        self._say_prompting("")
        if self.abilities.scoring() == "tokens":
            return super().loglikelihood(requests, disable_tqdm=True)
        pairs = [request.args for request in requests]
        if any(context == "" for context, _ in pairs):
            raise CallFailure(
                "invalid",
                f"Cannot score {self.label} on {self.client.base_url}: a text without a context "
                "needs a prompt of token ids, which it does not take",
            )
        jobs = [
            Job(pair, ["echo", *pair], functools.partial(self._score_text, *pair)) for pair in pairs
        ]
        return self._answered("requests", jobs)

    def _loglikelihood_tokens(
        self, requests: list[tuple[Any, list[int], list[int]]], **_: Any
    ) -> list[tuple[float, bool]]:
        jobs = [
            Job(
                pair,
                ["echo", context, continuation],
                functools.partial(self._score_tokens, context, continuation),
            )
            for pair, context, continuation in requests
        ]
        return self._answered("requests", jobs)

    def _score_tokens(self, context: list[int], continuation: list[int]) -> tuple[float, bool]:
        found = self._echo([*context, *continuation])
        end = len(context) + len(continuation)
        return _sum(found, range(len(context), end), self.label)

    def _score_text(self, context: str, continuation: str) -> tuple[float, bool]:
        """By the places of tokens in the text. As in lm-eval, spaces that end the context belong
        to the continuation; so does a token that holds letters of both."""
        whole = context + continuation
        found = self._echo(whole)
        border = len(context.rstrip())
        ends = [*found.offsets[1:], len(found.text)]
        places = [
            place
            for place, (start, end) in enumerate(zip(found.offsets, ends, strict=True))
            if start < len(whole) and (start >= border or whole[border:end].strip())
        ]
        self._require_spelled([found.tokens[place] for place in places], continuation)
        return _sum(found, places, self.label)

    def _require_spelled(self, tokens: Sequence[str], continuation: str) -> None:
        """Fails where the tokens at the places that the server tells are not the answer's: vLLM's
        places drift behind a letter that is several tokens."""
        letters = [_letters(token) for token in tokens]
        spelled, wanted = "".join(letters), _letters(continuation)
        shared = spelled.endswith(wanted) and len(spelled) - len(letters[0]) < len(wanted)
        if spelled != wanted and not shared:
            raise CallFailure(
                "invalid",
                f"Cannot score {self.label} on {self.client.base_url}: the tokens where it says "
                f"that {continuation.strip()!r} stands are {''.join(tokens).strip()!r}",
                hint="Give the model's tokenizer by --tokenizer: prompts then go as token ids",
            )

    def _echo(self, prompt: Prompt) -> Echo:
        try:
            return echo(self.client, prompt)
        except Unlike as error:
            raise CallFailure(
                "endpoint", f"Cannot score {self.label} on {self.client.base_url}: {error}"
            ) from None

    def window_losses(self, windows: Sequence[Sequence[int]]) -> list[float]:
        """Mean negative log-likelihood of each window's tokens after the first, nats per token."""
        if self.abilities.scoring() != "tokens":
            raise CallFailure(
                "invalid",
                f"Cannot measure {self.label} on {self.client.base_url}: windows of tokens need a "
                "prompt of token ids, which it does not take",
            )
        jobs = [
            Job(
                (str(number), ""),
                ["window", list(window)],
                functools.partial(self._score_tokens, [window[0]], list(window[1:])),
            )
            for number, window in enumerate(windows)
        ]
        found = self._answered("windows", jobs)
        return [
            -value / (len(window) - 1) for window, (value, _) in zip(windows, found, strict=True)
        ]

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        raise CallFailure(
            "invalid", f"Cannot measure {self.label} on a server: it scores a text without limit"
        )

    def _say_prompting(self, how: str) -> None:
        if not self.templated:
            self.prompting = how

    def _answered(self, unit: str, jobs: Sequence[Job[T]]) -> list[T]:
        """The jobs' answers in their order; their seconds are noted."""
        self.asked += len(jobs)

        def progress(done: int) -> None:
            self._report.progress(self.label, done, len(jobs), unit)

        found = answer_all(self.client, self.answers, jobs, progress)
        took: defaultdict[tuple[str, str], float] = defaultdict(float)
        for job, (_, seconds) in zip(jobs, found, strict=True):
            took[job.name] += seconds  # several draws for one prompt have one name
        self._seconds.update(took)
        return [answer for answer, _ in found]


def _sum(found: Echo, places: Sequence[int], label: str) -> tuple[float, bool]:
    """Nats of the tokens at these places, and whether each is the best there, as lm-eval reads
    it: no other has a higher log-probability."""
    values = [found.likelihoods[place] for place in places]
    known = [value for value in values if value is not None]
    if not places or len(known) != len(values):
        raise CallFailure(
            "endpoint", f"Cannot score {label}: the server gives no log-probability of the answer"
        )
    return math.fsum(known), all(found.likelihoods[p] == found.best[p] for p in places)


def _letters(text: str) -> str:
    """What every way of writing a token keeps: a part of a letter is written in many."""
    plain = "".join(text.split())
    return "".join(letter for letter in plain if letter.isascii()) or plain
