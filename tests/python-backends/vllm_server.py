"""A server in the shape of vLLM's /v1/completions over a real model in memory.

After vLLM's `vllm/entrypoints/openai/completion/serving.py`, there
`request_output_to_completion_response` and `_create_completion_logprobs`, and the page
"OpenAI-Compatible Server" of https://docs.vllm.ai:

- a prompt is text, which gets the tokenizer's special tokens, or token ids, which are taken as they
  are; `echo` puts the prompt's text before the answer, of ids as they are decoded, specials too;
- `logprobs` n: of every token, prompt and answer, its own log-probability and the n best, its own
  first; null for the first token; -inf is -9999.0;
- `text_offset` adds up the lengths of the tokens' texts, a special token's as well, though the text
  given back does not hold it;
- a prompt with its answer beyond `max_model_len` is refused with 400.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import torch
from served_fixtures import Reply

from pare_backends.checkpoint import load_dequantized

NAME = "tiny"


class VllmServer:
    """Answers by path and body. What servers do otherwise can be chosen:

    `takes_tokens`: False as llama.cpp's, which answer an error to token ids; `shift`: each token
    gets the figure of the next one; `tops`: how many best tokens it tells, of those asked for.
    """

    def __init__(
        self,
        model_dir: Path,
        takes_tokens: bool = True,
        shift: bool = False,
        tops: int | None = None,
        max_model_len: int = 256,
    ) -> None:
        self._model, self._tokenizer = load_dequantized(model_dir)
        self._takes_tokens, self._shift, self._tops = takes_tokens, shift, tops
        self._longest = max_model_len
        self._lock = threading.Lock()

    def __call__(self, path: str, body: dict[str, Any]) -> Reply:
        if path == "/models":
            card = {"id": NAME, "object": "model", "owned_by": "vllm"}
            return 200, {"object": "list", "data": [{**card, "max_model_len": self._longest}]}
        if body.get("model") != NAME:
            return _error(404, f"The model `{body.get('model')}` does not exist.", "NotFoundError")
        if path != "/completions":
            return 404, {"detail": "Not Found"}
        prompt = body["prompt"]
        if isinstance(prompt, list) and not self._takes_tokens:
            return 500, {"error": {"message": "assert len(body.prompt) <= 1"}}
        with self._lock:
            return self._complete(prompt, body)

    def _complete(self, prompt: str | list[int], body: dict[str, Any]) -> Reply:
        ids = self._tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)
        if len(ids) + body["max_tokens"] > self._longest:
            return _error(
                400,
                f"This model's maximum context length is {self._longest} tokens. However, you "
                f"requested {body['max_tokens']} output tokens and your prompt contains "
                f"{len(ids)} input tokens.",
                "BadRequestError",
            )
        written, reason = self._write(ids, body["max_tokens"])
        text = self._tokenizer.decode(written, skip_special_tokens=True)
        for stop in body.get("stop", ()):
            if stop in text:
                text, reason = text[: text.index(stop)], "stop"
        before = prompt if isinstance(prompt, str) else self._tokenizer.decode(prompt)
        tokens = [*ids, *written] if body.get("echo") else written
        choice = {
            "index": 0,
            "text": before + text if body.get("echo") else text,
            "logprobs": None,
            "finish_reason": reason,
            "stop_reason": None,
            "prompt_logprobs": None,
        }
        if body.get("logprobs") is not None:
            start = len(ids) + len(written) - len(tokens)
            choice["logprobs"] = self._logprobs([*ids, *written], body["logprobs"], start)
        usage = {"prompt_tokens": len(ids), "completion_tokens": len(written)}
        usage["total_tokens"] = len(ids) + len(written)
        answer = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": NAME}
        return 200, {**answer, "choices": [choice], "usage": usage}

    def _write(self, ids: list[int], longest: int) -> tuple[list[int], str]:
        written: list[int] = []
        while len(written) < longest:
            best = int(self._scores([*ids, *written])[-1].argmax())
            written.append(best)
            if best == self._tokenizer.eos_token_id:
                return written, "stop"
        return written, "length"

    def _scores(self, tokens: list[int]) -> torch.Tensor:
        """Log-probabilities of what comes after each token: (tokens, vocabulary) float32."""
        with torch.no_grad():
            found: torch.Tensor = self._model(torch.tensor([tokens])).logits[0].float()
        return found.log_softmax(-1)

    def _logprobs(self, tokens: list[int], asked: int, start: int) -> dict[str, Any]:
        scores = self._scores(tokens)
        names = [self._tokenizer.decode([token]) for token in tokens]
        count = asked if self._tops is None else self._tops
        values: list[float | None] = []
        tops: list[dict[str, float] | None] = []
        for place, token in enumerate(tokens):
            if place == 0:
                values.append(None)
                tops.append(None)
                continue
            row = scores[place if self._shift else place - 1]
            best = row.topk(count).indices.tolist() if count else []
            values.append(max(float(row[token]), -9999.0))
            tops.append({self._tokenizer.decode([i]): float(row[i]) for i in [token, *best]})
        offsets, end = [], 0
        for name in names[start:]:
            offsets.append(end)
            end += len(name)
        return {
            "text_offset": offsets,
            "token_logprobs": values[start:],
            "tokens": names[start:],
            "top_logprobs": tops[start:],
        }


def _error(status: int, message: str, kind: str) -> Reply:
    return status, {"error": {"message": message, "type": kind, "param": None, "code": status}}
