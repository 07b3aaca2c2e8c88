"""Requests to an OpenAI-compatible server: tried again where that helps, and every way in which
they can fail said in one sentence.

httpx is used and not lm-eval's own API models: those try every error again, a refused key and a
wrong model too, take a missing answer for an empty one, print the server's whole reply, and need
packages beside it (tenacity, tiktoken).
"""

from __future__ import annotations

import email.utils
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from pare_backends.failures import StageFailure
from pare_backends.knobs import unknown_name

KEY_VARIABLE = "OPENAI_API_KEY"
QUOTED = 200
"""Characters of a server's own words that a message quotes."""
TEMPORARY = (408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)


@dataclass(frozen=True)
class Endpoint:
    """A server, as in `core/schemas/request.ts`. Its key comes from the environment alone."""

    base_url: str
    model: str | None
    tokenizer_dir: str | None = None
    api: Literal["auto", "chat"] = "auto"
    concurrency: int = 4
    timeout_seconds: float = 300.0


@dataclass(frozen=True)
class Patience:
    """How often a request is tried again, and how long is waited before: twice as long each time,
    or as long as the server's Retry-After says. Seconds."""

    retries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 60.0


class Refused(StageFailure):
    """The server understood the request and refused it: a status from 400 to 499, or 501."""

    def __init__(self, message: str, status: int, said: str) -> None:
        super().__init__("bad_input", message)
        self.status = status
        self.said = said


class ServedClient:
    """Talks to one server; may be used by several threads. Raises `StageFailure`."""

    def __init__(
        self,
        endpoint: Endpoint,
        key: str | None = None,
        patience: Patience | None = None,
        key_variable: str = KEY_VARIABLE,
    ) -> None:
        self.endpoint = endpoint
        self.base_url = endpoint.base_url.rstrip("/")
        self._patience = patience or Patience()
        self._variable = key_variable
        self._key = _checked_key(key, key_variable)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        # A slow answer is not a dead server: only the connection has a short limit.
        timeout = httpx.Timeout(endpoint.timeout_seconds, connect=10.0)
        self._http = httpx.Client(headers=headers, timeout=timeout)
        self._stopped = threading.Event()
        self._name = endpoint.model

    @contextmanager
    def one_try(self) -> Iterator[None]:
        """While this runs, no request is tried again: for finding out what fails."""
        patience = self._patience
        self._patience = Patience(retries=0)
        try:
            yield
        finally:
            self._patience = patience

    @contextmanager
    def ended_waits(self) -> Iterator[None]:
        """While this runs, no thread waits for another try: each gives up at once."""
        self._stopped.set()
        try:
            yield
        finally:
            self._stopped.clear()

    @property
    def model(self) -> str:
        """The model's name: the one given, or the only one that the server lists."""
        if self._name is None:
            names = self.models()
            if len(names) != 1:
                known = f"it lists {', '.join(names[:20])}" if names else "it lists none"
                raise StageFailure(
                    "bad_input",
                    f"Cannot choose a model of {self.base_url} as none is named: {known}",
                    hint="Name one by --served-model or LLM_MODEL",
                )
            self._name = names[0]
        return self._name

    def models(self) -> list[str]:
        """Names that the server lists; empty where it has no list."""
        return [name for name, _ in self._listed()]

    def context_length(self) -> int | None:
        """Tokens that the model reads and writes in all, where the server says so (vLLM does)."""
        for name, entry in self._listed():
            length = entry.get("max_model_len")
            if name == self.model and isinstance(length, int):
                return length
        return None

    def _listed(self) -> list[tuple[str, Mapping[str, Any]]]:
        try:
            answer = self._request("GET", "/models", None)
        except Refused:
            return []
        data = answer.get("data")
        entries = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
        return [(str(one["id"]), one) for one in entries if "id" in one]

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The server's answer to the body, with the model's name put in."""
        try:
            return self._request("POST", path, {"model": self.model, **body})
        except Refused as refused:
            if refused.status in (400, 404, 422) and self._names_model(refused.said):
                raise self._unknown_model(refused) from None
            raise

    def _names_model(self, said: str) -> bool:
        return "model" in said.lower() and self.model in said

    def _unknown_model(self, refused: Refused) -> StageFailure:
        try:
            names = self.models()
        except StageFailure:  # a server may fail to list what it serves
            names = []
        if names and self.model not in names:
            sentence = unknown_name("model", self.model, names)
        else:
            sentence = f'Unknown model "{self.model}"; it says: {refused.said}'
        return StageFailure(
            "bad_input",
            f"Cannot evaluate on {self.base_url}: {sentence}",
            hint="Name the model as the server does, by --served-model or LLM_MODEL",
        )

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """Tries until the server answers, refuses, or the patience is at its end."""
        started, trouble = time.monotonic(), ""
        for attempt in range(self._patience.retries + 1):
            asked_wait: float | None = None
            try:
                reply = self._http.request(method, f"{self.base_url}{path}", json=body)
            except httpx.TimeoutException:
                trouble = f"it did not answer in {self.endpoint.timeout_seconds:g} s"
            except httpx.TransportError as error:
                trouble = f"it cannot be reached ({self._quote(str(error))})"
            else:
                if reply.status_code < 300:
                    found = _whole_object(reply.content)
                    if found is not None:
                        return found
                    trouble = f"its answer is no whole JSON object: {self._quote(reply.text, 80)!r}"
                elif reply.status_code in TEMPORARY:
                    asked_wait = retry_after(reply.headers.get("retry-after"))
                    trouble = f"it answers {reply.status_code}: {self._said(reply)}"
                else:
                    raise self._refusal(reply, path)
            if attempt < self._patience.retries:
                self._wait(attempt, asked_wait)
        spent = time.monotonic() - started
        raise StageFailure(
            "endpoint",
            f"Cannot evaluate on {self.base_url}: {trouble} "
            f"({self._patience.retries + 1} tries in {spent:.0f} s)",
            hint="Look at the server, then `pare resume`: what it answered is kept",
        )

    def _wait(self, attempt: int, asked: float | None) -> None:
        patience = self._patience
        own = patience.first_wait * 2**attempt * random.uniform(1.0, 1.25)
        seconds = min(own if asked is None else max(asked, own), patience.longest_wait)
        if self._stopped.wait(seconds):
            raise StageFailure("cancelled", f"The requests to {self.base_url} were ended")

    def _refusal(self, reply: httpx.Response, path: str) -> StageFailure:
        said, status = self._said(reply), reply.status_code
        if status in (401, 403):
            why = f"it refuses the key of {self._variable}" if self._key else "it wants a key"
            return StageFailure(
                "bad_input",
                f"Cannot evaluate on {self.base_url}: {why} ({status}: {said})",
                hint=f"Set {self._variable} to a key that may use the model",
            )
        if 300 <= status < 400:
            said = f"sent on to {self._quote(reply.headers.get('location', '?'))}"
        return Refused(f"Cannot ask {self.base_url}{path}: {status}, {said}", status, said)

    def _said(self, reply: httpx.Response) -> str:
        """The server's own words: the message of its error where there is one."""
        found = _whole_object(reply.content) or {}
        error = found.get("error", found.get("detail", found.get("message")))
        text = error.get("message") if isinstance(error, dict) else error
        return self._quote(str(text) if text else reply.text or reply.reason_phrase)

    def _quote(self, text: str, limit: int = QUOTED) -> str:
        """One line of the text, without the key: a server may say it back."""
        if self._key:
            text = text.replace(self._key, "[key]")
        line = " ".join(text.split())
        return line if len(line) <= limit else line[: limit - 1] + "…"


def key_of_environment(variable: str = KEY_VARIABLE) -> str | None:
    """The key that a variable holds; None where it is not set or empty."""
    return os.environ.get(variable) or None


def _checked_key(key: str | None, variable: str) -> str | None:
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise StageFailure(
            "bad_input",
            f"Cannot use the key of {variable}: it holds a space, a line end or a letter that no "
            "header can carry",
        )
    return key


def _whole_object(content: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(content)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def retry_after(text: str | None, now: Callable[[], float] = time.time) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or as a date; None: it says none."""
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now())
    except (TypeError, ValueError):
        return None
