"""Servers that are hostile, broken or busy: a reply ends in time, takes no more memory than was
asked for, and is told as what it is."""

from __future__ import annotations

import contextlib
import email.utils
import gzip
import json
import math
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from served_fixtures import Reply, serving

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.endpoint import Endpoint
from pare_backends.evaluation.served.jobs import Job, answer_all
from pare_backends.evaluation.served.patience import Patience, retry_after
from pare_backends.evaluation.served.requests import Unlike, echo, generate
from pare_backends.evaluation.served.transport import TOKEN_BYTES, largest_reply
from pare_backends.failures import CallFailure

NONE = Patience(seconds=0)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
GOOD = {"choices": [{"text": "x", "finish_reason": "stop"}]}
Speak = Callable[[socket.socket], None]


@contextmanager
def speaking(speak: Speak) -> Iterator[str]:
    """A server that says what it likes, once its request is read: its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            speak(connection)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.close()


def dripping(data: bytes) -> Speak:
    """A byte every 50 ms, for longer than any test."""

    def speak(connection: socket.socket) -> None:
        for byte in data * 100:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    return speak


def client_of(url: str, patience: Patience = NONE, timeout: float = 0.6, **more: Any) -> Any:
    return ServedClient(Endpoint(url, "m", timeout_seconds=timeout), None, patience, **more)


def said_by(client: ServedClient, tokens: int = 1) -> CallFailure:
    with pytest.raises(CallFailure) as failed:
        generate(client, "a", tokens, [], {})
    message = failed.value.message
    assert "\n" not in message and len(message) < 400
    return failed.value


@pytest.mark.parametrize(
    ("begin", "drip", "said"),
    [
        (b"", HEAD, "it did not answer in 0.6 s"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", "it did not answer in 0.6 s"),
        (HEAD + b"content-length: 5000\r\n\r\n", b" ", "its answer was not whole after 0.6 s"),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n", "not whole after 0.6 s"),
    ],
    ids=["headers", "interim replies", "body", "chunks"],
)
def test_a_reply_of_a_byte_at_a_time_ends_at_its_deadline(
    begin: bytes, drip: bytes, said: str
) -> None:
    def speak(connection: socket.socket) -> None:
        connection.sendall(begin)
        dripping(drip)(connection)

    with speaking(speak) as url:
        started = time.monotonic()
        failure = said_by(client_of(url))
        assert time.monotonic() - started < 4
    assert failure.kind == "endpoint"
    assert said in failure.message


def endless(begin: bytes, piece: bytes, sent: list[int]) -> Speak:
    """A body without an end, up to 300 MB."""

    def speak(connection: socket.socket) -> None:
        connection.sendall(begin)
        while sent[0] < 300_000_000:
            connection.sendall(piece)
            sent[0] += len(piece)

    return speak


@pytest.mark.parametrize(
    ("headers", "piece"),
    [
        (b"connection: close\r\n\r\n", b" " * 65536),
        (b"content-length: 300000000\r\n\r\n", b" " * 65536),
        (b"transfer-encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n"),
    ],
    ids=["no length", "200 MB said", "chunked"],
)
def test_an_endless_reply_is_left_at_what_was_asked_for(headers: bytes, piece: bytes) -> None:
    sent, before = [0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with speaking(endless(HEAD + headers, piece, sent)) as url:
        failure = said_by(client_of(url, timeout=20))
        time.sleep(0.1)
    assert "/completions is longer than 2.0 MB, more than what was asked for" in failure.message
    assert sent[0] < 40_000_000, "the connection was closed"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000, "KB"


def test_a_refusal_without_an_end_is_quoted_and_left() -> None:
    begin = b"HTTP/1.1 400 Bad\r\nconnection: close\r\n\r\nno such thing: "
    more = endless(b"", b"na " * 20000, [0])

    def speak(connection: socket.socket) -> None:
        connection.sendall(begin)
        time.sleep(0.3)  # what comes next is a piece of its own, longer than what is kept
        more(connection)

    with speaking(speak) as url:
        failure = said_by(client_of(url, timeout=20))
    assert "400, no such thing: na na" in failure.message


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_a_compressed_reply_is_no_way_around(encoding: str) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    small = gzip.compress(json.dumps(GOOD).encode())
    replies = [bomb, small]

    with serving(
        lambda path, body: (200, replies.pop(0)), {"content-encoding": encoding}
    ) as server:
        client = ServedClient(server.endpoint(), None, NONE)
        failure = said_by(client)
        if encoding == "gzip":
            assert "is longer than 2.0 MB" in failure.message
            assert generate(client, "a", 1, [], {}) == "x", "an honest one is read"
        else:
            assert "it is compressed by br, which was not asked for" in failure.message


def test_a_long_answer_that_was_asked_for_is_taken() -> None:
    long = {"choices": [{"text": "y" * 2_100_000, "finish_reason": "stop"}]}
    with serving(lambda path, body: (200, long)) as server:
        client = ServedClient(server.endpoint(), None, NONE)
        assert "longer than" in said_by(client, 100).message
        assert len(generate(client, "a", 4096, [], {})) == 2_100_000
    asked = {"prompt": [1] * 8000, "echo": True, "max_tokens": 1}
    assert largest_reply(asked) - largest_reply(None) == 8001 * TOKEN_BYTES


@pytest.mark.parametrize(
    ("reply", "headers", "kind", "said"),
    [
        (
            (200, {"error": {"message": "no credit", "code": 402}}),
            {},
            "bad_input",
            "402, no credit",
        ),
        ((200, {"error": "overloaded"}), {}, "endpoint", "answers 200 with an error inside: overl"),
        ((200, {"choices": []}), {}, "endpoint", "it answers with an empty list of choices"),
        ((200, {"choices": [7]}), {}, "endpoint", "it answers with choices that hold no object"),
        ((200, {"usage": {}}), {}, "endpoint", "it answers with no choices, but usage"),
        ((200, b"[" * 100_000), {}, "endpoint", "no whole JSON object: '[[["),
        (
            (200, b"<html><p>Hello"),
            {"content-type": "text/html"},
            "endpoint",
            "with a web page: '<",
        ),
        ((307, b""), {"location": "http://other.example/v1"}, "bad_input", "on to http://other.ex"),
        ((302, b""), {}, "bad_input", "it sends /completions on to no address (302)"),
    ],
)
def test_what_is_no_answer_is_told_as_what_it_is(
    reply: Reply, headers: dict[str, str], kind: str, said: str
) -> None:
    with serving(lambda path, body: reply, headers) as server:
        failure = said_by(ServedClient(server.endpoint(), None, NONE))
    assert failure.kind == kind
    assert said in failure.message


def test_a_redirect_takes_no_key_along() -> None:
    with serving(lambda path, body: (200, GOOD)) as other:
        away = {"location": f"{other.base_url}/completions"}
        with serving(lambda path, body: (307, b""), away) as server:
            client = ServedClient(server.endpoint(), "sk-secret", NONE)
            assert "sends /completions on to http://127" in said_by(client).message
    assert other.asked == []


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, "1", True])
def test_a_figure_that_is_no_number_is_refused(value: Any) -> None:
    def scored(path: str, body: dict[str, Any]) -> Reply:
        own, top = (-1.0, value) if best else (value, -1.0)
        figures = {"token_logprobs": [None, own], "top_logprobs": [None, {"x": top}]}
        return 200, {"choices": [{"text": "", "logprobs": figures}]}

    with serving(scored) as server:
        client = ServedClient(server.endpoint(), None, NONE)
        best = False
        with pytest.raises(CallFailure, match="the log-probability of token 1 is"):
            echo(client, [1, 2])
        best = True
        with pytest.raises(Unlike, match="are no numbers"):
            echo(client, [1, 2])


def test_a_server_that_answers_one_request_in_three_gets_through() -> None:
    count = [0]

    def busy(path: str, body: dict[str, Any]) -> Reply:
        count[0] += 1
        return (200, GOOD) if count[0] % 3 == 0 else (503, {"error": "busy"})

    with serving(busy) as server:
        client = ServedClient(server.endpoint(), None, Patience(first_wait=0.01, longest_wait=0.02))
        for _ in range(20):
            assert generate(client, "a", 1, [], {}) == "x"
    assert count[0] == 60


def tries_of(reply: Reply, answers_first: bool) -> tuple[int, float, str]:
    """How often a server was asked that goes wrong for good, its waits in seconds, and what was
    said: by a clock that only the waits move."""
    passed, count = [0.0], [0]

    def answer(path: str, body: dict[str, Any]) -> Reply:
        count[0] += 1
        return (200, GOOD) if answers_first and count[0] == 1 else reply

    with serving(answer) as server:
        client = ServedClient(server.endpoint(), None)
        client.transport._clock = lambda: passed[0]  # type: ignore[method-assign]
        client.transport._pause = lambda s: passed.append(passed.pop() + s)  # type: ignore[method-assign,func-returns-value]
        if answers_first:
            generate(client, "a", 1, [], {})
        failure = said_by(client)
    return count[0], passed[0], failure.message


@pytest.mark.parametrize(
    ("reply", "answers_first", "least", "most"),
    [
        ((503, {"error": "loading"}), False, 600, 600),
        ((500, {"error": "broken"}), True, 600, 600),
        ((500, {"error": "broken"}), False, 20, 20),
        ((400, {"error": "no"}), True, 0, 0),
    ],
)
def test_the_patience_is_in_seconds_and_said(
    reply: Reply, answers_first: bool, least: float, most: float
) -> None:
    count, passed, message = tries_of(reply, answers_first)
    assert least <= passed <= most + 6
    if most > 0:
        assert f"({count - answers_first} tries in" in message


def test_it_says_what_it_waits_for_and_refuses_to_wait_a_day() -> None:
    told: list[tuple[float, str]] = []
    date = email.utils.formatdate(time.time() + 86400, usegmt=True)
    for asked in ("86400", date, "1e999"):
        with serving(
            lambda path, body: (429, {"error": "later"}), {"retry-after": asked}
        ) as server:
            client = ServedClient(server.endpoint(), None, Patience())
            started = time.monotonic()
            failure = said_by(client)
            assert time.monotonic() - started < 2
            assert len(server.asked) == 1
        assert (
            f"it asks to wait {'for ever' if asked == '1e999' else '24 hours'}" in failure.message
        )
        assert "it answers 429: later" in failure.message
        assert "longer than the 10 minutes that it is waited for" in failure.message
        assert "--patience" in str(failure.hint)

    for asked in ("0", email.utils.formatdate(0, usegmt=True)):
        with serving(
            lambda path, body: (429, {"error": "later"}), {"retry-after": asked}
        ) as server:
            failure = said_by(ServedClient(server.endpoint(), None, Patience(seconds=0.2)))
        assert "asks to wait" not in failure.message
        assert "tries in" in failure.message
    replies: list[Reply] = [(429, {"error": "later"}), (200, GOOD)]
    with serving(lambda path, body: replies.pop(0), {"retry-after": "30"}) as server:
        client = ServedClient(
            server.endpoint(),
            None,
            Patience(),
            waiting=lambda seconds, why: told.append((seconds, why)),
        )
        client.transport._pause = lambda seconds: None  # type: ignore[method-assign]
        assert generate(client, "a", 1, [], {}) == "x"
    assert told == [(30.0, "as the server asks: it answers 429: later")]
    assert retry_after("nan") is None
    assert retry_after("-5") == 0


def test_the_first_failure_ends_what_still_waits_for_an_answer() -> None:
    """Not after the slowest request's deadline."""
    gate = threading.Event()

    def answer(path: str, body: dict[str, Any]) -> Reply:
        if body["prompt"] == "slow":
            gate.wait(20)
            return 200, GOOD
        time.sleep(0.2)
        return 400, {"error": "no"}

    with serving(answer) as server:
        client = ServedClient(server.endpoint(timeout_seconds=20), None, NONE)
        jobs = [
            Job((prompt, ""), prompt, lambda prompt=prompt: generate(client, prompt, 1, [], {}))
            for prompt in ("slow", "bad")
        ]
        started = time.monotonic()
        with pytest.raises(CallFailure, match="400, no"):
            answer_all(client, Answers(), jobs, lambda done: None)
        assert time.monotonic() - started < 5
        gate.set()
