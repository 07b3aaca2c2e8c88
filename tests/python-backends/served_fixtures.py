"""Servers of OpenAI's interface for tests: one of a real model, one that says what it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch

from pare_backends.checkpoint import load_dequantized
from pare_backends.evaluation.served_client import Endpoint

Reply = tuple[int, Any]
"""A status, and the body: bytes as they are, anything else as JSON."""
Answer = Callable[[str, dict[str, Any]], Reply]


@dataclass
class Running:
    """A server that runs: its address and what it was asked."""

    base_url: str
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    def endpoint(self, **changes: Any) -> Endpoint:
        return Endpoint(**{"base_url": self.base_url, "model": "tiny", **changes})


@contextmanager
def serving(answer: Answer, headers: dict[str, str] | None = None) -> Iterator[Running]:
    """A server on this machine that answers by the function: path and body to status and answer."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            self._answer(json.loads(self.rfile.read(length)))

        def _answer(self, body: dict[str, Any]) -> None:
            path = self.path.removeprefix("/v1")
            with lock:
                running.asked.append((path, body))
                running.keys.append(self.headers.get("authorization"))
                running.at_once += 1
                running.most_at_once = max(running.most_at_once, running.at_once)
            status, content = answer(path, body)
            with lock:
                running.at_once -= 1
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = Running(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()


class ModelServer:
    """The interface's documented meaning over a model in memory: /models, /completions with echo,
    logprobs and prompts as text or token ids. `shift` gives each token the figure of the next
    one, as servers do that forget that a prompt may begin without a special token."""

    def __init__(self, model_dir: Path, takes_tokens: bool = True, shift: bool = False) -> None:
        self._model, self._tokenizer = load_dequantized(model_dir)
        self._takes_tokens, self._shift = takes_tokens, shift
        self._lock = threading.Lock()

    def __call__(self, path: str, body: dict[str, Any]) -> Reply:
        if path == "/models":
            return 200, {"data": [{"id": "tiny", "max_model_len": 256}]}
        if body.get("model") != "tiny":
            return 404, {"error": {"message": f"The model `{body.get('model')}` does not exist"}}
        if path != "/completions":
            return 404, {"error": {"message": "Not Found"}}
        prompt = body["prompt"]
        if isinstance(prompt, list) and not self._takes_tokens:
            return 422, {"error": {"message": "prompt: Input should be a valid string"}}
        with self._lock:
            return 200, self._complete(prompt, body)

    def _complete(self, prompt: str | list[int], body: dict[str, Any]) -> dict[str, Any]:
        tokens = self._tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)
        count = len(tokens)
        reason = "length"
        while len(tokens) < count + body["max_tokens"]:
            best = int(self._logits(tokens)[-1].argmax())
            if best == self._tokenizer.eos_token_id:
                reason = "stop"
                break
            tokens.append(best)
        written = self._tokenizer.decode(tokens[count:], skip_special_tokens=True)
        before = prompt if isinstance(prompt, str) else self._tokenizer.decode(prompt)
        echoed = body.get("echo")
        text = f"{before} {written}" if echoed else written
        choice = {"index": 0, "text": text, "finish_reason": reason}
        if echoed and "logprobs" in body:
            added = [len(before) + 1] * (len(tokens) - count)
            choice["logprobs"] = {
                **self._logprobs(tokens),
                "text_offset": self._starts(before) + added,
            }
        usage = {"prompt_tokens": count, "completion_tokens": len(tokens) - count}
        return {"choices": [choice], "usage": usage}

    def _logits(self, tokens: list[int]) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = self._model(torch.tensor([tokens])).logits[0].float()
        return found.log_softmax(-1)

    def _logprobs(self, tokens: list[int]) -> dict[str, Any]:
        scores = self._logits(tokens)
        names = [self._tokenizer.decode([token]) for token in tokens]
        rows = range(len(tokens)) if self._shift else range(-1, len(tokens) - 1)
        values: list[float | None] = []
        tops: list[dict[str, float] | None] = []
        for token, row in zip(tokens, rows, strict=True):
            if row < 0 or (self._shift and not values):
                values.append(None)
                tops.append(None)
                continue
            values.append(float(scores[row, token]))
            best = int(scores[row].argmax())
            tops.append({"best": float(scores[row, best]), "own": float(scores[row, token])})
        return {"tokens": names, "token_logprobs": values, "top_logprobs": tops}

    def _starts(self, text: str) -> list[int]:
        found = self._tokenizer(text, return_offsets_mapping=True).offset_mapping
        return [start for start, _ in found]
