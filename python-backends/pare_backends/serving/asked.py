"""What a request says, checked field by field: one that is not heeded is refused, never passed
over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pare_backends.checkpoint.chat_template import IN_USE_BYTES, in_template
from pare_backends.failures import CallFailure
from pare_backends.knobs import unknown_name
from pare_backends.serving.reader import Served
from pare_backends.serving.writing import Decoding

MOST_BEST = 20
DEFAULT_TOKENS = 16
"""Of a completion that names no number, as in OpenAI's interface."""
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "n": (1,), "best_of": (1,), "frequency_penalty": (0, 0.0), "presence_penalty": (0, 0.0),
    "logit_bias": ({},), "suffix": ("",), "tools": ([],), "tool_choice": ("none", "auto"),
    "response_format": ({"type": "text"},), "functions": ([],),
    "parallel_tool_calls": (True, False),
}  # fmt: skip
"""Fields that other servers heed, and the values by which they ask for nothing."""
IGNORED = {"model", "user", "metadata", "store", "service_tier"}
COMMON = {
    "max_tokens", "temperature", "top_p", "seed", "stop", "stream", "stream_options", "logprobs",
    "ignore_eos",
}  # fmt: skip
OWN = {
    "completions": COMMON | {"prompt", "echo"},
    "chat": COMMON | {"messages", "max_completion_tokens", "top_logprobs"},
}


class Refusal(Exception):
    """Why a request is not answered, with its status and the field that is wrong."""

    def __init__(self, message: str, field: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message, self.field, self.status = message, field, status


@dataclass(frozen=True)
class Asked:
    """One request."""

    prompts: list[list[int]]
    """Tokens of each text that is to be written on."""
    texts: list[str]
    """The same as it was given, or as its tokens spell it."""
    decoding: Decoding
    echo: bool
    tells: bool
    """Whether log-probabilities are asked for."""
    stream: bool
    usage: bool
    """Whether a stream ends with the counts."""


def read_completion(body: Mapping[str, Any], served: Served) -> Asked:
    """A request of /completions."""
    _check_names(body, "completions", served)
    prompts, texts = _prompts(body.get("prompt"), served)
    best = _number(body, "logprobs", None, 0, MOST_BEST, whole=True)
    echo = _flag(body, "echo")
    longest = int(_number(body, "max_tokens", DEFAULT_TOKENS, 0 if echo else 1, whole=True) or 0)
    if echo and served.reader.refuses_texts is not None and best is not None:
        raise Refusal(
            f"A given text has no log-probabilities here: {served.reader.refuses_texts}", "echo"
        )
    decoding = _decoding(body, longest, 0 if best is None else int(best))
    asked = Asked(prompts, texts, decoding, echo, best is not None, *_streaming(body))
    for tokens in prompts:
        _check_room(len(tokens), longest, served)
    return asked


def read_chat(body: Mapping[str, Any], served: Served) -> Asked:
    """A request of /chat/completions: its messages stand in the model's own template."""
    _check_names(body, "chat", served)
    tells = _flag(body, "logprobs")
    best = int(_number(body, "top_logprobs", 0, 0, MOST_BEST, whole=True) or 0)
    if best > 0 and not tells:
        raise Refusal("top_logprobs is told with logprobs alone: say logprobs true", "top_logprobs")
    text = _in_template(body.get("messages"), served)
    tokens = list(served.tokenizer.encode(text, add_special_tokens=False))
    field = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
    room = max(1, served.longest - len(tokens))
    longest = int(_number(body, field, room, 1, whole=True) or 1)
    _check_room(len(tokens), longest, served)
    decoding = _decoding(body, longest, best)
    return Asked([tokens], [text], decoding, False, tells, *_streaming(body))


def _check_names(body: Mapping[str, Any], kind: str, served: Served) -> None:
    known = {*OWN[kind], *NEUTRAL, *IGNORED}
    for name, value in body.items():
        if name not in known:
            raise Refusal(unknown_name("field", name, sorted(known)), name)
        if name in NEUTRAL and value is not None and value not in NEUTRAL[name]:
            raise Refusal(f"{name} is not heeded here: leave it out", name)
    model = body.get("model", served.name)
    if model != served.name:
        raise Refusal(f"The model {model!r:.80} is not here: it is {served.name!r}", "model", 404)


def _prompts(given: Any, served: Served) -> tuple[list[list[int]], list[str]]:
    several = isinstance(given, list) and given and not isinstance(given[0], int)
    prompts, texts = [], []
    for one in given if several else [given]:
        if isinstance(one, str):
            tokens, text = list(served.tokenizer.encode(one)), one
        elif _are_tokens(one, served):
            tokens, text = list(one), str(served.tokenizer.decode(one))
        else:
            raise Refusal(
                "prompt must be a text, token ids of the vocabulary, or a list of these", "prompt"
            )
        if not tokens:
            raise Refusal("prompt is empty: nothing stands before the first token", "prompt")
        prompts.append(tokens)
        texts.append(text)
    return prompts, texts


def _are_tokens(given: Any, served: Served) -> bool:
    size = len(served.tokenizer)
    return isinstance(given, list) and all(type(one) is int and 0 <= one < size for one in given)


def _content(given: Any) -> str | None:
    """A message's text, which may come in parts; None: it is none."""
    if isinstance(given, str):
        return given
    parts = given if isinstance(given, list) else [None]
    texts = [
        one["text"]
        for one in parts
        if isinstance(one, dict) and one.get("type") == "text" and isinstance(one.get("text"), str)
    ]
    return "".join(texts) if len(texts) == len(parts) else None


def _messages(given: Any) -> list[dict[str, str]]:
    read: list[dict[str, str]] = []
    for one in given if isinstance(given, list) else []:
        role = one.get("role") if isinstance(one, dict) else None
        content = _content(one.get("content")) if isinstance(role, str) else None
        if content is None:
            read = []
            break
        read.append({"role": str(role), "content": content})
    if not read:
        raise Refusal("messages must be a list of {role, content}, both texts", "messages")
    return read


def _in_template(given: Any, served: Served) -> str:
    messages = _messages(given)
    if not getattr(served.tokenizer, "chat_template", None):
        raise Refusal(f"{served.name} has no chat template: ask /v1/completions", "messages")
    try:
        return in_template(served.tokenizer, messages, IN_USE_BYTES)
    except CallFailure as failure:  # a template is a program of the model's own
        raise Refusal(failure.message, "messages") from failure


def _decoding(body: Mapping[str, Any], longest: int, best: int) -> Decoding:
    stop = body.get("stop") or []
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or not all(isinstance(one, str) and one for one in stops):
        raise Refusal("stop must be a text or a list of texts, none empty", "stop")
    seed = body.get("seed")
    if seed is not None and (type(seed) is not int or seed < 0):
        raise Refusal("seed must be a whole number from 0 on", "seed")
    return Decoding(
        longest,
        float(_number(body, "temperature", 1.0, 0.0, 2.0) or 0.0),
        float(_number(body, "top_p", 1.0, 0.0, 1.0) or 0.0),
        seed,
        tuple(stops),
        _flag(body, "ignore_eos"),
        best,
    )


def _streaming(body: Mapping[str, Any]) -> tuple[bool, bool]:
    options = body.get("stream_options") or {}
    if not isinstance(options, dict):
        raise Refusal("stream_options must be an object", "stream_options")
    return _flag(body, "stream"), options.get("include_usage") is True


def _check_room(prompt: int, longest: int, served: Served) -> None:
    if prompt + longest > served.longest:
        raise Refusal(
            f"This model's maximum context length is {served.longest} tokens: the prompt has"
            f" {prompt} and max_tokens is {longest}",
            "max_tokens",
        )


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise Refusal(f"{name} must be true or false, not {value!r:.40}", name)
    return value is True


def _number(
    body: Mapping[str, Any],
    name: str,
    default: float | None,
    least: float,
    most: float = float("inf"),
    whole: bool = False,
) -> float | None:
    value = body.get(name)
    if value is None:
        return default
    fits = type(value) is int or (not whole and type(value) is float)
    if not fits or not least <= value <= most:
        kind = "a whole number" if whole else "a number"
        bounds = f"from {least} on" if most == float("inf") else f"from {least} to {most}"
        raise Refusal(f"{name} must be {kind} {bounds}, not {value!r:.40}", name)
    return float(value)
