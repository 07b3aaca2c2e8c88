"""The server's door: paths, streams, and one text at a time behind a lock."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pare_backends.failures import one_line
from pare_backends.serving.answers import chat_choice, chat_told, completion_choice, counts
from pare_backends.serving.asked import Asked, Refusal, read_chat, read_completion
from pare_backends.serving.reader import Served
from pare_backends.serving.writing import Likelihood, Written, likelihoods, write

MOST_BYTES = 16 * 1024 * 1024
STALLED_SECONDS = 60
"""A connection that takes or gives nothing for so long is closed: who reads no answer holds the
model."""
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"


class ModelServer(ThreadingHTTPServer):
    """Answers 503 until `served` is there."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Handler)
        self.served: Served | None = None
        self.turn = threading.Lock()
        """Whose text is read or written: a model holds one sequence."""
        self.started = int(time.time())


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = STALLED_SECONDS
    server: ModelServer

    def do_GET(self) -> None:
        path, served = self.path.partition("?")[0], self.server.served
        if served is None:
            self._refuse(503, "The model is being loaded")
        elif path == "/health":
            self._answer(200, {"status": "ok"})
        elif path == "/v1/models":
            model = {
                "id": served.name, "object": "model", "created": self.server.started,
                "owned_by": "pare", "max_model_len": served.longest,
            }  # fmt: skip
            self._answer(200, {"object": "list", "data": [model]})
        elif path in (COMPLETIONS, CHAT):
            self._refuse(405, f"{path} is asked by POST")
        else:
            self._refuse(404, f"There is no {path[:80]} here")

    def do_POST(self) -> None:
        path, served = self.path.partition("?")[0], self.server.served
        try:
            body = self._body()
            if path not in (COMPLETIONS, CHAT):
                raise Refusal(f"There is no {path[:80]} here", status=404)
            if served is None:
                raise Refusal("The model is being loaded", status=503)
            chat = path == CHAT
            asked = read_chat(body, served) if chat else read_completion(body, served)
            with self.server.turn:
                if not self._gone():
                    self._say(served, asked, chat)
        except Refusal as refusal:
            self._refuse(refusal.status, refusal.message, refusal.field)
        except OSError:  # whoever asked has hung up, or takes nothing
            self.close_connection = True
        except Exception as error:
            self._refuse(500, f"{type(error).__name__}: {one_line(error)}")

    def _body(self) -> Mapping[str, Any]:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self.close_connection = True
            raise Refusal(f"A request has a content-length of at most {MOST_BYTES} bytes")
        data = self.rfile.read(int(length))
        try:
            body = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Refusal(f"The request is no JSON: {error}") from error
        if not isinstance(body, dict):
            raise Refusal("The request must be a JSON object")
        return body

    def _say(self, served: Served, asked: Asked, chat: bool) -> None:
        """Answers a request whose turn it is."""
        name = ("chatcmpl-" if chat else "cmpl-") + uuid.uuid4().hex
        kind = "chat.completion" if chat else "text_completion"
        head = {"id": name, "object": kind, "created": int(time.time()), "model": served.name}
        if asked.stream:
            head["object"] = "chat.completion.chunk" if chat else kind
            self._stream(served, asked, chat, head)
            return
        written, choices = [], []
        for index in range(len(asked.prompts)):
            echoed, parts = begin(served, asked, index, self._gone)
            last = deque(parts, maxlen=1).pop()
            if last.finish is None:
                return  # nobody waits for it
            written.append(last)
            choice = (
                chat_choice(served, asked, last)
                if chat
                else completion_choice(served, asked, index, echoed, last)
            )
            choices.append(choice)
        self._answer(200, {**head, "choices": choices, "usage": counts(asked, written)})

    def _stream(self, served: Served, asked: Asked, chat: bool, head: dict[str, Any]) -> None:
        """Server-sent events, each as soon as its text is sure."""
        if len(asked.prompts) > 1 or asked.echo:
            raise Refusal("A stream is of one prompt, which is not given back", "stream")
        _, parts = begin(served, asked, 0, self._gone)
        first = next(parts, Written(finish="length"))  # what fails before it is an error's status
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-store")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        said, tokens = 0, 0
        if chat:
            self._event({**head, "choices": [_delta({"role": "assistant", "content": ""})]})
        try:
            for part in _joined(first, parts):
                new = Written(part.text[said:], part.tokens[tokens:], [], part.finish)
                new.places = [place - said for place in part.places[tokens:]]
                said, tokens = len(part.text), len(part.tokens)
                self._event({**head, "choices": [_part(served, asked, chat, new)]})
            if asked.usage:
                last = Written(tokens=first.tokens)
                self._event({**head, "choices": [], "usage": counts(asked, [last])})
            self._chunk(b"data: [DONE]\n\n")
        except OSError:
            raise
        except Exception as error:  # the status is said: the stream itself must tell
            self._event({"error": {"message": one_line(error), "type": "server_error"}})
        self._chunk(b"")

    def _event(self, content: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(content, allow_nan=False).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _gone(self) -> bool:
        """Whether whoever asked has hung up."""
        try:
            poll = select.poll()  # select itself takes no descriptor above 1023
            poll.register(self.connection, select.POLLIN)
            return bool(poll.poll(0)) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def _refuse(self, status: int, message: str, field: str | None = None) -> None:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        error = {"message": message, "type": kind, "param": field, "code": None}
        with contextlib.suppress(OSError):
            self._answer(status, {"error": error})

    def _answer(self, status: int, content: Mapping[str, Any]) -> None:
        data = json.dumps(content, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a prompt's path and status tell no more than its answer does."""


def begin(
    served: Served, asked: Asked, index: int, gone: Callable[[], bool]
) -> tuple[list[Likelihood], Iterator[Written]]:
    """Reads a prompt, whole where it is given back; its tokens and what comes after it."""
    prompt = asked.prompts[index]
    echoed: list[Likelihood] = []
    after = None
    if asked.echo and asked.tells:
        echoed, after = likelihoods(served, prompt, asked.decoding.best)
    return echoed, write(served, prompt, asked.decoding, after, gone)


def _joined(first: Written, parts: Iterator[Written]) -> Iterator[Written]:
    yield first
    if first.finish is None:
        yield from parts


def _part(served: Served, asked: Asked, chat: bool, new: Written) -> dict[str, Any]:
    if not chat:
        return completion_choice(served, asked, 0, [], new)
    told = chat_told(served, new.tokens) if asked.tells else None
    return _delta({"content": new.text}, new.finish, told)


def _delta(delta: dict[str, str], finish: str | None = None, told: Any = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": told, "finish_reason": finish}
