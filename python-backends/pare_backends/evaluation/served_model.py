"""lm-eval's language model over a server: the same requests as for a model in memory, so that the
same weights give the same scores."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lm_eval.api.model import TemplateLM
from lm_eval.models.utils import (
    handle_stop_sequences,
    normalize_gen_kwargs,
    postprocess_generated_text,
)

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.served_client import ServedClient
from pare_backends.evaluation.served_jobs import Job, answer_all
from pare_backends.evaluation.served_probe import ServerAbilities
from pare_backends.evaluation.served_requests import Echo, Prompt, Unlike, chat, echo, generate
from pare_backends.failures import StageFailure
from pare_backends.progress import Report

T = TypeVar("T")
LONGEST_ANSWER = 256
"""Tokens of a generation whose task names no number; lm-eval's own default."""
PASSED_ON = ("temperature", "top_p", "seed")
"""Options of a task that samples; any other generation is greedy."""
CHAT = "one message of a user, by the chat template of the server"


class ServedLM(TemplateLM):
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
            raise StageFailure(
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

    def loglikelihood(
        self, requests: list[Any], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Nats of each continuation after its context, and whether greedy decoding gives it."""
        self._say_prompting("")
        if self.abilities.scoring() == "tokens":
            return super().loglikelihood(requests, disable_tqdm=True)
        pairs = [request.args for request in requests]
        if any(context == "" for context, _ in pairs):
            raise StageFailure(
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
        if found.offsets is None:
            raise StageFailure(
                "invalid",
                f"Cannot score {self.label} on {self.client.base_url}: it does not say where its "
                "tokens begin (text_offset is missing)",
            )
        border = len(context.rstrip())
        ends = [*found.offsets[1:], len(found.text)]
        places = [
            place
            for place, (start, end) in enumerate(zip(found.offsets, ends, strict=True))
            if start < len(whole) and (start >= border or whole[border:end].strip())
        ]
        return _sum(found, places, self.label)

    def _echo(self, prompt: Prompt) -> Echo:
        try:
            return echo(self.client, prompt)
        except Unlike as error:
            raise StageFailure(
                "endpoint", f"Cannot score {self.label} on {self.client.base_url}: {error}"
            ) from None

    def window_losses(self, windows: Sequence[Sequence[int]]) -> list[float]:
        """Mean negative log-likelihood of each window's tokens after the first, nats a token."""
        if self.abilities.scoring() != "tokens":
            raise StageFailure(
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

    def _say_prompting(self, how: str) -> None:
        if not self.templated:
            self.prompting = how

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """The conversation as the tokenizer's template writes it."""
        return str(
            self._tokens().apply_chat_template(
                chat_history,
                tokenize=False,
                add_generation_prompt=add_generation_prompt,
                continue_final_message=not add_generation_prompt,
            )
        )

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        raise StageFailure(
            "invalid", f"Cannot measure {self.label} on a server: it scores a text without limit"
        )

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Generations: by /completions where there is one, else by a chat."""
        by_chat = not self.abilities.completes()
        if by_chat and self.templated:
            raise StageFailure(
                "invalid",
                f"Cannot put the prompts of {self.label} in a chat template: "
                f"{self.client.base_url} is asked by chat and applies its own",
                hint="Leave --chat-template out",
            )
        self._say_prompting(CHAT if by_chat else "")
        jobs = []
        times: Counter[str] = Counter()
        for request in requests:
            context, options = request.args
            kwargs = normalize_gen_kwargs(options, LONGEST_ANSWER)
            until = handle_stop_sequences(kwargs.pop("until", None), eos=None)
            longest = int(kwargs.pop("max_gen_toks"))
            sampled = {k: kwargs[k] for k in PASSED_ON if k in kwargs and kwargs.get("do_sample")}
            as_text = by_chat or not self.abilities.takes_tokens()
            sent: Prompt = context if as_text else self.tok_encode(context)
            asked = ["chat" if by_chat else "generate", sent, longest, until, sampled]
            if sampled:  # several draws for one prompt are several answers, each by its own seed
                sampled["seed"] = int(sampled.get("seed", 0)) + times[context]
                times[context] += 1
            write: Callable[..., str] = chat if by_chat else generate
            stop = until if self.abilities.stops() else []
            compute = functools.partial(write, self.client, sent, longest, stop, sampled)
            jobs.append(Job((context, str(options)), asked, compute))
        stops = [handle_stop_sequences(r.args[1].get("until"), eos=None) for r in requests]
        texts = self._answered("generations", jobs)
        return [
            str(postprocess_generated_text(text, stop, None))
            for text, stop in zip(texts, stops, strict=True)
        ]

    def write(self, prompts: Sequence[str], longest: int, stop: list[str]) -> list[str]:
        """A greedy text of at most `longest` tokens after each prompt."""
        by_chat = not self.abilities.completes()
        write: Callable[..., str] = chat if by_chat else generate
        jobs = [
            Job(
                (prompt, ""),
                ["chat" if by_chat else "generate", prompt, longest, stop],
                functools.partial(
                    write, self.client, prompt, longest, stop if self.abilities.stops() else [], {}
                ),
            )
            for prompt in prompts
        ]
        return self._answered("generations", jobs)

    def _answered(self, unit: str, jobs: Sequence[Job[T]]) -> list[T]:
        """The jobs' answers in their order; their seconds are noted."""
        self.asked += len(jobs)

        def progress(done: int) -> None:
            self._report.progress(self.label, done, len(jobs), unit)

        found = answer_all(self.client, self.answers, jobs, progress)
        self._seconds.update(
            (job.name, seconds) for job, (_, seconds) in zip(jobs, found, strict=True)
        )
        return [answer for answer, _ in found]


def _sum(found: Echo, places: Sequence[int], label: str) -> tuple[float, bool]:
    """Nats of the tokens at these places, and whether each is the best there, as lm-eval reads
    it: no other has a higher log-probability."""
    values = [found.likelihoods[place] for place in places]
    known = [value for value in values if value is not None]
    if not places or len(known) != len(values):
        raise StageFailure(
            "endpoint", f"Cannot score {label}: the server gives no log-probability of the answer"
        )
    return math.fsum(known), all(found.likelihoods[p] == found.best[p] for p in places)
