"""What all who ask under one budget share, also across processes and kills: a ledger of the tokens
that each request read and wrote, and until when a server asked to wait.

A request is written down at its worst before it is sent, and at what it took when it is answered.
One whose process was killed in between stays at its worst, as it may have been billed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pare_backends.evaluation.served.messages import tokens_read
from pare_backends.failures import CallFailure

TEMPLATE_TOKENS = 256
"""Of a chat template around one message, with its system prompt: more than any known one has."""
LEDGER = "ledger.jsonl"
ACCOUNT_VARIABLE = "PARE_ACCOUNT"
"""Names the file of the account."""


@dataclass(frozen=True)
class Account:
    """A budget, and who asks under it."""

    folder: str
    """Where ledger and waits lie, for all who share them."""
    of: str = ""
    """Who asks, by which what it took is told apart."""
    input_price: float | None = None  # of a million tokens read
    output_price: float | None = None  # of a million tokens written
    most_money: float | None = None
    most_tokens: int | None = None  # read and written together
    in_dollars: bool = True
    """Whether money is US dollars, as servers that say what a request took count them."""


def account_of_environment() -> Account | None:
    """The account that whoever started this process keeps; None: it keeps none. It is a file, as a
    budget may be raised while the processes that ask are forked of one that is older."""
    path = os.environ.get(ACCOUNT_VARIABLE)
    return Account(**json.loads(Path(path).read_text())) if path else None


@dataclass(frozen=True)
class Use:
    """Tokens of a request."""

    read: int
    written: int
    money: float | None = None
    """US dollars that the server says it took; None: it does not."""


def worst_use(body: Mapping[str, Any]) -> Use:
    """The most that a request can take: no token of a text has less than a byte, and none is
    written beyond `max_tokens`."""
    prompt = body.get("prompt")
    if isinstance(prompt, list):
        read = len(prompt) + 1
    else:
        text = prompt if isinstance(prompt, str) else json.dumps(body.get("messages", []))
        read = len(text.encode()) + TEMPLATE_TOKENS
    return Use(read, int(body.get("max_tokens", 0)))


def counted_use(answer: Mapping[str, Any]) -> Use | None:
    """What the server counts; None: it does not say."""
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    read = counts.get("prompt_tokens", tokens_read(counts))
    written = counts.get("completion_tokens", counts.get("output_tokens"))
    return (
        Use(read, written, _cost(counts))
        if isinstance(read, int) and isinstance(written, int)
        else None
    )


def _cost(usage: Mapping[str, Any]) -> float | None:
    """OpenRouter's own count of what a request took, in credits that are US dollars."""
    cost = usage.get("cost")
    if not isinstance(cost, int | float) or isinstance(cost, bool):
        return None
    return float(cost) if math.isfinite(cost) and cost >= 0 else None


class Ledger:
    """One server's requests in an account. May be used by several threads and processes."""

    def __init__(self, account: Account, base_url: str) -> None:
        self._account, self._base_url = account, base_url
        folder = Path(account.folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / LEDGER
        host = hashlib.sha256(urlsplit(base_url).netloc.encode()).hexdigest()[:16]
        self._pause_path = folder / f"{host}.pause"
        self._thread = threading.Lock()
        self._ended = threading.Condition()
        self._under_way = 0
        self._read_to = 0
        self._known: dict[str, tuple[int, float]] = {}
        self._tokens, self._spent = 0, 0.0

    def paused_seconds(self) -> float:
        """Seconds that the server still wants nothing from anyone; 0: none."""
        try:
            return max(0.0, float(self._pause_path.read_text()) - time.time())
        except (OSError, ValueError):
            return 0.0

    def pause(self, seconds: float) -> None:
        """All who share the account leave the server alone for so long."""
        if seconds > self.paused_seconds():
            self._pause_path.write_text(str(time.time() + seconds))

    def begin(self, body: Mapping[str, Any]) -> str:
        """Writes a request down at its worst; gives its number. Where that would pass the budget it
        waits for this process's own requests to come to less; raises `CallFailure` where none is
        under way: it is not to be sent then."""
        worst = worst_use(body)
        asked = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:24]
        number = uuid.uuid4().hex
        line = {
            "request": number,
            "of": self._account.of,
            "base_url": self._base_url,
            "model": str(body.get("model", "")),
            "asked": asked,
            **self._figures(worst),
        }
        while True:
            with self._locked():
                over = self._over(worst)
                if over is None:
                    self._write(line)
                    self._under_way += 1
                    return number
            with self._ended:
                if self._under_way == 0:
                    raise over
                self._ended.wait(1.0)

    def end(self, number: str, used: Use | None, seconds: float) -> None:
        """What it took; None: the server does not count, so that it stays at its worst."""
        figures = {} if used is None else self._figures(used)
        with self._locked():
            self._write({"answered": number, "seconds": round(seconds, 4), **figures})
        self.lost()

    def refused(self, number: str) -> None:
        """It was refused, and so cost nothing."""
        with self._locked():
            self._write({"refused": number, **self._figures(Use(0, 0))})
        self.lost()

    def lost(self) -> None:
        """A request is not under way any more; one without an answer stays at its worst."""
        with self._ended:
            self._under_way -= 1
            self._ended.notify_all()

    def _figures(self, use: Use) -> dict[str, Any]:
        return {"read": use.read, "written": use.written, "money": self._money(use)}

    def _money(self, use: Use) -> float | None:
        prices = self._account.input_price, self._account.output_price
        # A server that counts nothing does not make free what the user has a price of.
        told = use.money is not None and self._account.in_dollars
        if told and (use.money or None in prices):
            return use.money
        if prices[0] is None or prices[1] is None:
            return None
        return (use.read * prices[0] + use.written * prices[1]) / 1e6

    def _over(self, worst: Use) -> CallFailure | None:
        """Why a request may not be sent; None: even at its worst it keeps to the budget."""
        most_tokens, most_money = self._account.most_tokens, self._account.most_money
        added = worst.read + worst.written
        if most_tokens is not None and self._tokens + added > most_tokens:
            return _over(f"{added} tokens at worst", f"{most_tokens} tokens", f"{self._tokens}")
        own = self._money(worst)
        if most_money is not None and own is not None and self._spent + own > most_money:
            return _over(f"{own:.6f} at worst", f"{most_money:g}", f"{self._spent:.6f}")
        return None

    def _take_in(self, line: Mapping[str, Any]) -> None:
        """Adds a line to what is spent: each request at what it took, or else at its worst."""
        number = str(line.get("request", line.get("answered", line.get("refused"))))
        before = self._known.get(number, (0, 0.0))
        tokens, money = before
        if "read" in line:
            tokens = int(line["read"]) + int(line["written"])
            money = float(line.get("money") or 0.0)
        self._known[number] = (tokens, money)
        self._tokens += tokens - before[0]
        self._spent += money - before[1]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """What others wrote is taken in, and nobody else writes meanwhile."""
        with self._thread, self._path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._read_to)
            data = file.read()
            if data and not data.endswith(b"\n"):  # half a line: its process was killed
                file.write(b"\n")
                file.flush()
                data += b"\n"
            self._read_to += len(data)
            for line in _lines(data):
                with suppress(KeyError, TypeError, ValueError):  # a damaged one is none
                    self._take_in(line)
            yield

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._path.open("ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")


def _lines(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in data.splitlines():
        try:
            read = json.loads(line)
        except ValueError:
            continue
        if isinstance(read, dict):
            found.append(read)
    return found


def _over(worst: str, most: str, spent: str) -> CallFailure:
    return CallFailure(
        "endpoint",
        f"Cannot ask within the budget: the next request takes {worst}, which could pass {most} "
        f"with the {spent} that are spent; it was not sent",
        hint="Raise the budget, and run it again: what was answered is kept",
    )
