"""How much of a prompt and a reply a server takes: asked for before anything is judged.

A server that is asked for more tokens than are left of its context refuses the whole request. So
its limit is looked up in what it lists, and a prompt is counted by the server's own tokenizer where
it has a door for that. Where neither is told, the first refusal that names a limit tells it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.endpoint import key_of_environment
from pare_backends.evaluation.served.transport import Refused, Transport
from pare_backends.failures import CallFailure

LIMITS = (
    "max_model_len",  # vLLM, SGLang
    "context_length",  # OpenRouter, Together
    "max_context_length",  # LM Studio
    "context_window",  # Groq
    "max_input_tokens",
    "n_ctx",  # llama.cpp
)
SAID = (
    re.compile(r"(?:context|sequence|model) (?:length|size|len|window)\D{0,40}?(\d{3,8})"),
    re.compile(r"(?:available|maximum) context[^0-9]{0,40}(\d{3,8})"),
    re.compile(r"n_ctx\D{0,10}(\d{3,8})"),
)
"""Where a refusal names the limit: vLLM, llama-cpp-python, llama.cpp."""
TOO_LONG = re.compile(r"context|too (?:long|large|many)|max_tokens|max_new_tokens|exceed|length")
TEMPLATE = 64
"""Tokens of a chat template around one message."""
PER_BYTE = 0.5
"""Tokens of a byte, at worst, of texts in words: English has a quarter, Chinese a third."""


class Room:
    """The context of one server's model. May be used by several threads."""

    def __init__(self, client: ServedClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._asked = False
        self._context: int | None = None
        self._counts: bool | None = None
        self._doors: Transport | None = None

    @property
    def context(self) -> int | None:
        """Tokens of prompt and reply together; None: the server does not say."""
        with self._lock:
            if not self._asked:
                self._context = self._listed() or self._of_properties()
                self._asked = True
            return self._context

    def learn(self, refused: Refused) -> bool:
        """Whether a refusal is about length; its limit is kept where it names one."""
        said = refused.said.lower()
        if not TOO_LONG.search(said):
            return False
        found = next((match for pattern in SAID if (match := pattern.search(said))), None)
        if found is not None:
            with self._lock:
                known = self._context or int(found[1])
                self._context = min(known, int(found[1]))
        return True

    def tokens(self, prompt: str) -> int:
        """Tokens of a prompt in its template: counted where it matters, else at worst."""
        worst = int(len(prompt.encode()) * PER_BYTE) + TEMPLATE
        if self.context is None or worst <= self.context // 4:
            return worst
        counted = self._counted(prompt)
        return worst if counted is None else counted + TEMPLATE

    def _listed(self) -> int | None:
        try:
            answer = self._client.transport.request("GET", "/models", None)
        except CallFailure:
            return None
        data = answer.get("data")
        entries = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
        own = [one for one in entries if one.get("id") == self._client.model] or entries
        return _limit_in(own[0]) if len(own) == 1 else None

    def _of_properties(self) -> int | None:
        """llama.cpp's server tells it beside the interface."""
        try:
            with self._beside().one_try():
                answer = self._beside().request("GET", "/props", None)
        except CallFailure:
            return None
        settings = answer.get("default_generation_settings")
        return _limit_in({**answer, **(settings if isinstance(settings, dict) else {})})

    def _counted(self, prompt: str) -> int | None:
        """By vLLM's or llama.cpp's own tokenizer."""
        if self._counts is False:
            return None
        body = {"model": self._client.model, "prompt": prompt, "content": prompt}
        try:
            with self._beside().one_try():
                answer = self._beside().request("POST", "/tokenize", body)
        except CallFailure:
            self._counts = False
            return None
        tokens, count = answer.get("tokens"), answer.get("count")
        self._counts = isinstance(count, int) or isinstance(tokens, list)
        if isinstance(count, int):
            return count
        return len(tokens) if isinstance(tokens, list) else None

    def _beside(self) -> Transport:
        """The server without `/v1`."""
        if self._doors is None:
            endpoint = self._client.endpoint
            root = re.sub(r"/v1$", "", self._client.base_url)
            variable = endpoint.key_variable
            self._doors = Transport(
                replace(endpoint, base_url=root), key_of_environment(variable), variable
            )
        return self._doors


def _limit_in(entry: Mapping[str, Any]) -> int | None:
    meta = entry.get("meta")
    both = {**(meta if isinstance(meta, Mapping) else {}), **entry}
    found = [both[name] for name in LIMITS if type(both.get(name)) is int and both[name] > 0]
    return min(found) if found else None
