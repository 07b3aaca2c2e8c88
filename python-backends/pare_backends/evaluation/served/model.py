"""lm-eval's language model over a server: the same requests as for a model in memory, so that the
same weights give the same scores."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from lm_eval.models.utils import (
    handle_stop_sequences,
    normalize_gen_kwargs,
    postprocess_generated_text,
)

from pare_backends.checkpoint.chat_template import filled
from pare_backends.evaluation.served.jobs import Job
from pare_backends.evaluation.served.requests import Prompt, chat, generate
from pare_backends.evaluation.served.scoring import ServedScorer
from pare_backends.failures import CallFailure

LONGEST_ANSWER = 256
"""Tokens of a generation whose task names no number; lm-eval's own default."""
PASSED_ON = ("temperature", "top_p", "seed")
"""Options of a task that samples; any other generation is greedy."""
CHAT = "one message of a user, by the chat template of the server"

REFUSED = "refused: "
"""How the reason begins why an answer without a text ended that a participant gave."""


class ServedLM(ServedScorer):
    """A model behind an endpoint: log-likelihoods, and generations by completions or by chat."""

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """The conversation as the tokenizer's template writes it."""
        tokens = self._tokens()

        def fill(taken: Any) -> str:
            return str(
                tokens.apply_chat_template(
                    taken,
                    tokenize=False,
                    add_generation_prompt=add_generation_prompt,
                    continue_final_message=not add_generation_prompt,
                )
            )

        return filled(tokens, fill, chat_history)

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Generations: by /completions where there is one, else by a chat."""
        by_chat = not self.abilities.completes()
        if by_chat and self.templated:
            raise CallFailure(
                "invalid",
                f"Cannot put the prompts of {self.label} in a chat template: "
                f"{self.client.base_url} is asked by chat and applies its own",
                hint="Leave --chat-template out",
            )
        self._say_prompting(CHAT if by_chat else "")
        jobs, stops = [], []
        times: Counter[str] = Counter()
        for request in requests:
            context, options = request.args
            kwargs = normalize_gen_kwargs(options, LONGEST_ANSWER)
            until = handle_stop_sequences(kwargs.pop("until", None), eos=None)
            longest = int(kwargs.pop("max_gen_toks"))
            sampled = {k: kwargs[k] for k in PASSED_ON if k in kwargs and kwargs.get("do_sample")}
            stops.append(until)
            sent, read = self._sent(context, by_chat)
            if sampled:  # several draws for one prompt are several answers, each by its own seed
                sampled["seed"] = int(sampled.get("seed", 0)) + times[context]
                times[context] += 1
            jobs.append(
                self._job((context, str(options)), sent, by_chat, longest, until, sampled, read)
            )
        texts = self._written(jobs)
        return [
            str(postprocess_generated_text(text, stop, None))
            for text, stop in zip(texts, stops, strict=True)
        ]

    def _sent(self, context: str, by_chat: bool) -> tuple[Prompt, int | None]:
        """A prompt as it is sent, and the tokens that the server must read of it; None: not
        known."""
        if self.tokenizer is None:
            return context, None
        tokens = self.tok_encode(context)
        as_text = by_chat or not self.abilities.takes_tokens()
        return (context if as_text else tokens), len(tokens)

    def write(self, prompts: Sequence[str], longest: int, stop: list[str]) -> list[str]:
        """A greedy text of at most `longest` tokens after each prompt."""
        by_chat = not self.abilities.completes()
        jobs = [
            self._job((prompt, ""), prompt, by_chat, longest, stop, {}, None) for prompt in prompts
        ]
        return self._written(jobs)

    def _written(self, jobs: list[Job[str]]) -> list[str]:
        """The texts of the jobs; an empty one is told, as a thinking model's whose tokens ran out.
        Raises where none of them has a text, unless a participant's answer was refused: another
        question may be answered."""
        before = len(self.client.silences)
        texts = self._answered("generations", jobs)
        why = Counter(self.client.silences[before:])
        if not why:
            return texts
        reasons = ", ".join(f"finish_reason {name}: {count}" for name, count in why.most_common())
        said = f"{why.total()} of {len(texts)} answers have no text ({reasons})"
        if why["length"]:
            said += ", their tokens went into what the model thinks before it answers"
        refused = sum(count for name, count in why.items() if name.startswith(REFUSED))
        if not any(texts) and not refused:
            raise CallFailure(
                "endpoint",
                f"Cannot evaluate on {self.client.base_url}: {said}",
                hint="Switch its thinking off, or take a task that allows longer answers",
            )
        self._report.alert("answers_without_text", f"{said}; each counts as empty")
        return texts

    def _job(
        self,
        name: tuple[str, str],
        sent: Prompt,
        by_chat: bool,
        longest: int,
        until: list[str],
        sampled: dict[str, Any],
        read: int | None,
    ) -> Job[str]:
        """One generation of at most `longest` tokens, to be known by `name`."""
        options = {**self.abilities.unpenalized(), **sampled}
        stop = until if self.abilities.stops() else []
        write: Callable[..., str] = chat if by_chat else generate
        return Job(
            name,
            ["chat" if by_chat else "generate", sent, longest, until, options],
            functools.partial(write, self.client, sent, longest, stop, options, read),
        )
