"""A model that is asked to judge: how its server takes the question, and every way it answers."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pare_backends.evaluation.judging.prompts import Asked, shortened
from pare_backends.evaluation.judging.reply import read_reply
from pare_backends.evaluation.judging.room import Room
from pare_backends.evaluation.scoring.answer import Obtained
from pare_backends.evaluation.served.endpoint import Judge
from pare_backends.evaluation.served.jobs import Job, answer_all
from pare_backends.evaluation.served.model import ServedLM
from pare_backends.evaluation.served.probe import ABSENT
from pare_backends.evaluation.served.requests import count_of, only_choice
from pare_backends.evaluation.served.transport import Refused, Unusable
from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.failures import CallFailure

LEAST_REPLY = 24
"""Tokens of a reply without which nothing is asked."""
TRIES = 5
"""Of a prompt that is refused as too long, each shorter."""
PROBE: dict[str, Any] = {
    "type": "object",
    "properties": {"ok": {"enum": [1], "type": "integer"}},
    "required": ["ok"],
    "additionalProperties": False,
}
Schemas = Literal["json_schema", "json_object", "none"]
SCHEMAS: tuple[Schemas, ...] = ("json_schema", "json_object")


@dataclass(frozen=True)
class Form:
    """How a server takes a question."""

    by_chat: bool
    schemas: Schemas
    seed: bool


@dataclass(frozen=True)
class Said:
    """What a judge said to one question, read."""

    values: Mapping[str, Any] | None
    """None: nothing could be read."""
    obtained: Obtained
    reply: str | None
    model: str
    prompt_hash: str
    prompt_tokens: int | None
    reply_tokens: int | None
    cut_characters: int
    why: str | None
    """Why nothing was read; None: it was."""


class AskedModel:
    """One judge."""

    def __init__(self, served: ServedLM) -> None:
        self._served, self._client = served, served.client
        endpoint = served.client.endpoint
        self._judge = endpoint if isinstance(endpoint, Judge) else Judge(endpoint.base_url)
        self.room = Room(self._client)
        self._lock = threading.Lock()
        self._form: Form | None = None

    @property
    def model(self) -> str:
        return self._client.model

    def cost(self, said: Said) -> float | None:
        """US dollars; None: prices or tokens are not known."""
        prices = self._judge.input_price, self._judge.output_price
        if None in (*prices, said.prompt_tokens, said.reply_tokens):
            return None
        read, written = said.prompt_tokens or 0, said.reply_tokens or 0
        return (read * (prices[0] or 0) + written * (prices[1] or 0)) / 1e6

    def ask(self, questions: Sequence[Asked]) -> list[Said]:
        """What it says to each. One that cannot be read is asked again by a shorter prompt."""
        found = self._once(questions)
        again = [place for place, one in enumerate(found) if one.values is None]
        shorter = [
            Asked(questions[i].case, questions[i].rubric, questions[i].criteria, shorter=True)
            for i in again
        ]
        for place, said in zip(again, self._once(shorter), strict=True):
            first = found[place]
            # Of two replies that say nothing the first is kept: it was asked in full.
            found[place] = said if said.values is not None else first
        return found

    def _once(self, questions: Sequence[Asked]) -> list[Said]:
        if not questions:
            return []
        form = self._form_of()
        self.room.context  # noqa: B018  # asked for before the first prompt
        served = self._served
        jobs = [
            Job(
                (one.prompt(one.shown()), ""),
                ["judge", one.prompt(one.shown()), one.reply_tokens, self._options(form, one)],
                lambda one=one: self._answer(form, one),  # type: ignore[misc]
            )
            for one in questions
        ]
        answers = answer_all(
            self._client,
            served.answers,
            jobs,
            lambda done: served.report.progress("judge", done, len(jobs), "verdicts"),
        )
        return [self._read(one, got) for one, (got, _) in zip(questions, answers, strict=True)]

    def _read(self, asked: Asked, got: Mapping[str, Any]) -> Said:
        text, why = got["text"], got["why"]
        read = None if text is None else read_reply(text, asked.names, asked.allowed)
        obtained: Obtained = "asked"
        if asked.shorter:
            obtained = "asked_again"
        elif read is not None and read.mended:
            obtained = "mended"
        if read is None and why is None:
            ended = f", ended by {got['finish']}" if got["finish"] not in (None, "stop") else ""
            why = f"its reply does not say {', '.join(asked.names[:4])}{ended}"
        return Said(
            values=None if read is None else read.values,
            obtained=obtained,
            reply=text,
            model=got["model"],
            prompt_hash=got["prompt_hash"],
            prompt_tokens=got["read"],
            reply_tokens=got["written"],
            cut_characters=got["cut"],
            why=why,
        )

    def _options(self, form: Form, asked: Asked) -> dict[str, Any]:
        return self._options_for(form, asked.schema())

    def _options_for(self, form: Form, schema: Mapping[str, Any]) -> dict[str, Any]:
        options: dict[str, Any] = {"temperature": self._judge.temperature}
        if form.seed:
            options["seed"] = self._judge.seed
        if form.schemas == "json_schema":
            named = {"name": "verdict", "strict": True, "schema": schema}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        if form.schemas == "json_object":
            options["response_format"] = {"type": "json_object", "schema": schema}
        return options

    def _answer(self, form: Form, asked: Asked) -> dict[str, Any]:
        """The reply as JSON keeps it, to a prompt that fits."""
        shown = asked.shown()
        letters = 0
        why = None
        for _ in range(TRIES):
            case = shortened(shown, asked.rubric.cut, letters)
            prompt = asked.prompt(case)
            context = self.room.context
            room = asked.reply_tokens
            if context is not None:
                read = self.room.tokens(prompt)
                room = min(room, context - read)
                if room < min(LEAST_REPLY, asked.reply_tokens):
                    lacking = asked.reply_tokens - (context - read)
                    share = max(1.0, len(prompt) / max(1, read))
                    letters, before = letters + int(lacking * share) + 1, case.letters
                    if shortened(shown, asked.rubric.cut, letters).letters < before:
                        continue
                    why = f"its context of {context} tokens does not hold the shortest prompt"
                    break
            try:
                answer = self._post(form, prompt, room, asked)
            except Refused as refused:
                if not self.room.learn(refused):
                    raise
                why = f"it refuses a prompt of {len(prompt)} characters as too long"
                letters += max(200, case.letters // 3) if self.room.context is None else 0
                continue
            except Unusable as unusable:
                return self._kept(None, str(unusable), prompt, asked.case.letters - case.letters)
            return self._kept(answer, None, prompt, asked.case.letters - case.letters)
        return self._kept(None, why or "its context is too short", asked.prompt(shown), 0)

    def _post(self, form: Form, prompt: str, room: int, asked: Asked) -> dict[str, Any]:
        body = {"max_tokens": room, **self._served.abilities.unpenalized()}
        return self._send(form, prompt, {**body, **self._options(form, asked)})

    def _send(self, form: Form, prompt: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if form.by_chat:
            messages = [{"role": "user", "content": prompt}]
            return self._client.post("/chat/completions", {"messages": messages, **body})
        return self._client.post("/completions", {"prompt": prompt + "\n", **body})

    def _kept(
        self, answer: dict[str, Any] | None, why: str | None, prompt: str, cut: int
    ) -> dict[str, Any]:
        text, finish = None, None
        if answer is not None:
            choice = only_choice(self._client, answer)
            message = choice.get("message")
            text = message.get("content") if isinstance(message, dict) else choice.get("text")
            text = text if isinstance(text, str) else ""
            finish = choice.get("finish_reason")
        named = None if answer is None else answer.get("model")
        return {
            "text": text,
            "finish": finish,
            "why": why,
            "model": named if isinstance(named, str) and named else self.model,
            "prompt_hash": content_hash(prompt),
            "read": None if answer is None else count_of(answer, "prompt_tokens"),
            "written": None if answer is None else count_of(answer, "completion_tokens"),
            "cut": max(0, cut),
        }

    def _form_of(self) -> Form:
        """Found by asking, the best first: a schema keeps a reply to its form."""
        with self._lock:
            if self._form is None:
                self._form = self._find_form()
            return self._form

    def _find_form(self) -> Form:
        """A plain question must be answered; whether a schema is taken is then tried."""
        by_chat, seed = self._plain()
        self._served.abilities.unpenalized()
        for one in SCHEMAS:
            form = Form(by_chat, one, seed)
            try:
                with self._client.transport.one_try():
                    self._probe(form)
                return form
            except CallFailure:  # some answer 500 to an option that they do not know
                continue
        return Form(by_chat, "none", seed)

    def _plain(self) -> tuple[bool, bool]:
        """Whether it is asked by chat, and whether it takes a seed."""
        by_chat = True
        seed = self._judge.api != "messages"
        while True:
            try:
                self._probe(Form(by_chat, "none", seed))
                return by_chat, seed
            except Refused as refused:
                if by_chat and refused.status in ABSENT and self._judge.api == "auto":
                    by_chat = False
                elif seed and refused.status not in ABSENT:
                    seed = False
                else:
                    raise

    def _probe(self, form: Form) -> None:
        body = {"max_tokens": 16, **self._options_for(form, PROBE)}
        self._send(form, 'Reply with {"ok": 1}', body)
