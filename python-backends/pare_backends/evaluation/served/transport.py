"""Requests to a server: tried again where that helps, and every way in which they can fail said in
one sentence.

httpx is used and not lm-eval's own API models: those try every error again, a refused key and a
wrong model too, take a missing answer for an empty one, print the server's whole reply, and need
packages beside it (tenacity, tiktoken).
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx

from pare_backends.evaluation.served.account import Account, Ledger, counted_use
from pare_backends.evaluation.served.endpoint import Endpoint, checked_key
from pare_backends.evaluation.served.http import (
    Ended,
    Exchanges,
    Reply,
    TooLong,
    TooSlow,
    Unreadable,
)
from pare_backends.evaluation.served.messages import VERSION
from pare_backends.evaluation.served.patience import (
    BROKEN,
    BUSY,
    Exhausted,
    Patience,
    Tries,
    retry_after,
    shown_seconds,
)
from pare_backends.evaluation.served.withheld import bytes_without, text_without
from pare_backends.failures import CallFailure

QUOTED = 200
"""Characters of a server's own words that a message quotes."""
REPLY_BYTES = 2_000_000
"""Of a reply about which nothing was asked for: what a list of models takes, and more."""
TOKEN_BYTES = 512
"""Of a reply for each token: its text, escaped, its log-probability, the best one's, its place."""
SAID_FROM_SECONDS = 2.0
SAID_EVERY_SECONDS = 10.0
Waiting = Callable[[float, str], None]
"""Told that a request waits for so many seconds, and why."""


class Refused(CallFailure):
    """The server understood the request and refused it: a status from 400 to 499, or 501."""

    def __init__(self, message: str, status: int, said: str) -> None:
        super().__init__("bad_input", message)
        self.status = status
        self.said = said


class Unusable(CallFailure):
    """A reply came that is none: longer than what was asked for can take, or unreadable. Another
    question may well be answered."""


@dataclass(frozen=True)
class Trouble(Exception):
    """Why a try failed that may be made again."""

    why: str
    busy: bool = False
    """The server says so itself."""
    asked: float | None = None
    """Seconds that it asks to wait."""


def largest_reply(body: Mapping[str, Any] | None) -> int:
    """Bytes that a reply to this body may have: by the tokens that it asks for, and those of the
    prompt where it wants them back."""
    asked = dict(body or {})
    tokens = int(asked.get("max_tokens", 0))
    if asked.get("echo"):
        tokens += len(asked["prompt"])  # of a text its letters: no token has less than one
    return REPLY_BYTES + TOKEN_BYTES * tokens


class Transport:
    """JSON to and from one server; may be used by several threads. Raises `CallFailure`."""

    def __init__(
        self,
        endpoint: Endpoint,
        key: str | None,
        key_variable: str,
        patience: Patience | None = None,
        waiting: Waiting | None = None,
        account: Account | None = None,
    ) -> None:
        self.base_url = endpoint.base_url.rstrip("/")
        self._timeout = endpoint.timeout_seconds
        self._patience = patience or Patience(endpoint.patience_seconds)
        self._variable = key_variable
        self._key = checked_key(key, key_variable)
        self._http = Exchanges({**endpoint.headers, **_key_header(endpoint, self._key)})
        self._ledger = None if account is None else Ledger(account, self.base_url)
        self._quiet_until = 0.0
        self._waiting = waiting or (lambda seconds, why: None)
        self._told_until = 0.0
        self._answered = False
        self._once = False
        self._stopped = threading.Event()

    @contextmanager
    def one_try(self) -> Iterator[None]:
        """While this runs, a request that fails is not tried again, for finding out what fails;
        where the server is busy it is."""
        self._once = True
        try:
            yield
        finally:
            self._once = False

    @contextmanager
    def ended(self) -> Iterator[None]:
        """While this runs, no thread waits for an answer or for another try: each gives up."""
        self._stopped.set()
        self._http.end()
        try:
            yield
        finally:
            self._stopped.clear()

    def request(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """Tries until the server answers, refuses, or the patience is at its end."""
        tries = Tries(self._patience, self._clock)
        while True:
            if self._stopped.is_set():
                raise self._were_ended()
            self._keep_quiet()
            try:
                found = self._try(method, path, body)
            except Trouble as trouble:
                self._wait(self._next_wait(tries, trouble), trouble)
            else:
                self._answered = True
                return found

    def _try(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """The answer. Raises `Trouble` where another try may help."""
        if self._ledger is None or body is None:
            return self._read(self._ask(method, path, body), path)
        number = self._ledger.begin(body)
        began = self._clock()
        try:
            reply = self._ask(method, path, body)
        except (Trouble, CallFailure):
            self._ledger.lost()  # it stays at its worst
            raise
        try:
            found = self._read(reply, path)
        except (Trouble, CallFailure):
            if reply.status >= 300:
                self._ledger.refused(number)
            else:
                self._ledger.lost()
            raise
        self._ledger.end(number, counted_use(found), self._clock() - began)
        return found

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> Reply:
        try:
            reply = self._http.ask(
                method,
                f"{self.base_url}{path}",
                None if body is None else json.dumps(body, allow_nan=False).encode(),
                self._timeout,
                largest_reply(body),
            )
            return replace(reply, content=bytes_without(self._key, reply.content))
        except TooSlow as slow:
            raise Trouble(self._too_slow(slow)) from None
        except TooLong:
            raise self._unusable(
                f"its answer to {path} is longer than {largest_reply(body) / 1e6:.1f} MB, more "
                "than what was asked for can take"
            ) from None
        except Unreadable as error:
            raise self._unusable(f"its answer cannot be read: {self._quote(str(error))}") from None
        except Ended:
            raise self._were_ended() from None
        except httpx.InvalidURL as error:
            raise CallFailure(
                "bad_input", f"Cannot evaluate on {self.base_url}: {self._quote(str(error))}"
            ) from None
        except (httpx.TimeoutException, httpx.TransportError) as error:
            said = self._quote(str(error)) or type(error).__name__
            raise Trouble(f"it cannot be reached ({said})") from None

    def _read(self, reply: Reply, path: str) -> dict[str, Any]:
        if reply.status in BUSY or reply.status in BROKEN:
            asked = retry_after(reply.headers.get("retry-after"))
            busy = reply.status in BUSY or asked is not None
            self._hold_others(asked)
            raise Trouble(f"it answers {reply.status}: {self._said(reply)}", busy, asked)
        if reply.status >= 300:
            raise self._refusal(reply, reply.status, path)
        found = _whole_object(reply.content)
        if found is None:
            if reply.headers.get("content-type", "").lower().startswith("text/html"):
                raise self._cannot(
                    f"it answers with a web page: {self._quote(reply.text, 80)!r}",
                    "Give the address of the server's interface, such as http://host:8000/v1",
                )
            raise Trouble(f"its answer is no whole JSON object: {self._quote(reply.text, 80)!r}")
        if found.get("error") and not found.get("choices"):
            raise self._error_inside(reply, found["error"], path)
        return found

    def _error_inside(self, reply: Reply, error: Any, path: str) -> Exception:
        """An error that comes as if it were an answer; its own code tells what it is."""
        code = str(error.get("code")) if isinstance(error, dict) else ""
        status = int(code) if re.fullmatch("[45][0-9][0-9]", code) else 500
        if status in BUSY or status >= 500:
            why = f"it answers {reply.status} with an error inside: {self._said(reply)}"
            return Trouble(why, status in BUSY, retry_after(reply.headers.get("retry-after")))
        return self._refusal(reply, status, path)

    def _next_wait(self, tries: Tries, trouble: Trouble) -> float:
        stranger = not (self._answered or trouble.busy)
        once = self._once and not trouble.busy
        try:
            return tries.next_wait(trouble.asked, stranger, once)
        except Exhausted as end:
            if end.asked is not None:
                raise self._cannot(
                    f"it asks to wait {shown_seconds(end.asked)} ({trouble.why}), longer than the "
                    f"{shown_seconds(end.patience)} that it is waited for",
                    "`pare resume` goes on later: what it answered is kept; or let it wait longer "
                    "by --patience",
                ) from None
            count = "1 try" if end.tries == 1 else f"{end.tries} tries"
            raise self._cannot(
                f"{trouble.why} ({count} in {end.spent:.0f} s)",
                "Look at the server, then `pare resume`: what it answered is kept",
            ) from None

    def _keep_quiet(self) -> None:
        """Waits as long as the server asked anyone of this account, or this process, to wait."""
        shared = 0.0 if self._ledger is None else self._ledger.paused_seconds()
        left = max(shared, self._quiet_until - self._clock())
        if left <= 0:
            return
        if left > self._patience.seconds:
            raise self._cannot(
                f"it asks to wait {shown_seconds(left)}, longer than the "
                f"{shown_seconds(self._patience.seconds)} that it is waited for",
                "Go on later: what it answered is kept; or let it wait longer by --patience",
            )
        self._wait(left, Trouble("it asked another request to wait", True, left))

    def _hold_others(self, asked: float | None) -> None:
        """What a server asks of one request holds for all."""
        if asked is None or asked <= 0:
            return
        self._quiet_until = max(self._quiet_until, self._clock() + asked)
        if self._ledger is not None:
            self._ledger.pause(asked)

    def _wait(self, seconds: float, trouble: Trouble) -> None:
        until = self._clock() + seconds
        if seconds >= SAID_FROM_SECONDS and until >= self._told_until + SAID_EVERY_SECONDS:
            self._told_until = until
            asked = trouble.asked is not None and trouble.asked > 0
            why = "as the server asks" if asked else "before asking the server again"
            self._waiting(seconds, f"{why}: {trouble.why}")
        self._pause(seconds)
        if self._stopped.is_set():
            raise self._were_ended()

    def _clock(self) -> float:
        return time.monotonic()

    def _pause(self, seconds: float) -> None:
        self._stopped.wait(seconds)

    def _were_ended(self) -> CallFailure:
        return CallFailure("cancelled", f"The requests to {self.base_url} were ended")

    def _cannot(self, why: str, hint: str | None = None) -> CallFailure:
        return CallFailure("endpoint", f"Cannot evaluate on {self.base_url}: {why}", hint=hint)

    def _unusable(self, why: str) -> CallFailure:
        return Unusable("endpoint", f"Cannot evaluate on {self.base_url}: {why}")

    def _too_slow(self, slow: TooSlow) -> str:
        if slow.received is None:
            return f"it did not answer in {self._timeout:g} s"
        return f"its answer was not whole after {self._timeout:g} s ({slow.received} bytes came)"

    def _refusal(self, reply: Reply, status: int, path: str) -> CallFailure:
        said = self._said(reply)
        if status in (401, 403):
            why = f"it refuses the key of {self._variable}" if self._key else "it wants a key"
            return CallFailure(
                "bad_input",
                f"Cannot evaluate on {self.base_url}: {why} ({status}: {said})",
                hint=f"Set {self._variable} to a key that may use the model",
            )
        if 300 <= status < 400:
            location = reply.headers.get("location", "no address")
            target = self._quote(re.sub("([?#]).*", r"\1…", location))  # a query may hold a key
            return CallFailure(
                "bad_input",
                f"Cannot evaluate on {self.base_url}: it sends {path} on to {target} ({status}), "
                "where neither prompts nor a key are sent",
                hint="Name the address that answers itself",
            )
        return Refused(f"Cannot ask {self.base_url}{path}: {status}, {said}", status, said)

    def _said(self, reply: Reply) -> str:
        """The server's own words: the message of its error where there is one."""
        found = _whole_object(reply.content) or {}
        error = found.get("error", found.get("detail", found.get("message")))
        text = error.get("message") if isinstance(error, dict) else error
        return self._quote(str(text) if text else reply.text or reply.reason)

    def _quote(self, text: str, limit: int = QUOTED) -> str:
        """One line of the text, without the key: a server may say it back."""
        if self._key:
            text = text_without(self._key, text).replace(self._key, "[key]")
        line = " ".join(text.split())
        return line if len(line) <= limit else line[: limit - 1] + "…"


def _key_header(endpoint: Endpoint, key: str | None) -> dict[str, str]:
    """The header that carries the key, as the interface wants it."""
    if endpoint.api == "messages":
        return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}
    return {"Authorization": f"Bearer {key}"} if key else {}


def _whole_object(content: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
