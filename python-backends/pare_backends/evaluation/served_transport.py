"""Requests to a server: tried again where that helps, and every way in which they can fail said in
one sentence.

httpx is used and not lm-eval's own API models: those try every error again, a refused key and a
wrong model too, take a missing answer for an empty one, print the server's whole reply, and need
packages beside it (tenacity, tiktoken).
"""

from __future__ import annotations

import email.utils
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from pare_backends.evaluation.served_endpoint import Endpoint, Patience, checked_key
from pare_backends.failures import StageFailure

QUOTED = 200
"""Characters of a server's own words that a message quotes."""
TEMPORARY = (408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)


class Refused(StageFailure):
    """The server understood the request and refused it: a status from 400 to 499, or 501."""

    def __init__(self, message: str, status: int, said: str) -> None:
        super().__init__("bad_input", message)
        self.status = status
        self.said = said


class Transport:
    """JSON to and from one server; may be used by several threads. Raises `StageFailure`."""

    def __init__(
        self,
        endpoint: Endpoint,
        key: str | None,
        key_variable: str,
        patience: Patience | None = None,
    ) -> None:
        self.base_url = endpoint.base_url.rstrip("/")
        self._timeout = endpoint.timeout_seconds
        self._patience = patience or Patience()
        self._variable = key_variable
        self._key = checked_key(key, key_variable)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        # A slow answer is not a dead server: only the connection has a short limit.
        timeout = httpx.Timeout(self._timeout, connect=10.0)
        self._http = httpx.Client(headers=headers, timeout=timeout)
        self._stopped = threading.Event()

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

    def request(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """Tries until the server answers, refuses, or the patience is at its end."""
        started, trouble = time.monotonic(), ""
        for attempt in range(self._patience.retries + 1):
            asked_wait: float | None = None
            try:
                reply = self._http.request(method, f"{self.base_url}{path}", json=body)
            except httpx.TimeoutException:
                trouble = f"it did not answer in {self._timeout:g} s"
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
