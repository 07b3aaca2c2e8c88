"""Servers that say the key back: no answer, no error and no word of a wait holds it."""

from __future__ import annotations

import base64
import secrets
from typing import Any
from urllib.parse import quote

import pytest
from served_fixtures import serving

from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.patience import Patience
from pare_backends.failures import CallFailure

BODY = {"messages": [{"role": "user", "content": "?"}], "max_tokens": 4}


def forms(key: str) -> list[str]:
    """The key as a server may write it."""
    encoded = [base64.b64encode(text.encode()).decode() for text in (key, f"Bearer {key}")]
    return [key, quote(key, safe=""), quote(key), *encoded]


def holds(text: str, key: str) -> bool:
    """Whether a text holds enough of the key's beginning, plain or in base64."""
    inside = [base64.b64encode(b" " * n + key.encode()).decode()[4:40] for n in range(3)]
    return any(trace in text for trace in [key[:16], *inside])


@pytest.mark.parametrize("status", [200, 307, 400, 401, 500])
@pytest.mark.parametrize("shape", ["answer", "error", "text"])
def test_said_back(status: int, shape: str) -> None:
    key = f"sk-{secrets.token_hex(12)}/+{secrets.token_hex(12)}="
    said = " ".join(forms(key))
    headers = {"location": f"/{quote(key)}?key={quote(said)}"} if status == 307 else {}
    choice = {"message": {"content": said}, "finish_reason": said}
    reply: Any = {
        "answer": {"model": said, "choices": [choice]},
        "error": {"error": {"message": f"{'x' * 190} {said}", "code": said}},
        "text": said.encode(),
    }[shape]
    told: list[str] = []
    with serving(lambda path, body: (status, reply), headers) as server:
        asked = server.judge() if status == 401 else server.endpoint()
        waiting = lambda seconds, why: told.append(why)  # noqa: E731
        client = ServedClient(asked, key, Patience(seconds=0), waiting=waiting)
        try:
            told.append(str(client.post("/chat/completions", BODY)))
            assert "[key]" in told[-1]
        except CallFailure as failure:
            told.append(f"{failure.message} {failure.hint} {failure!r} {failure.__cause__!r}")
    assert server.keys[-1] is None or key in server.keys[-1]
    assert not holds(" ".join(told), key), told


def test_a_placeholder_is_no_secret() -> None:
    choice = {"message": {"content": "anything goes"}, "finish_reason": "stop"}
    with serving(lambda path, body: (200, {"choices": [choice]})) as server:
        client = ServedClient(server.endpoint(), "anything", Patience(seconds=0))
        answer = client.post("/chat/completions", BODY)
    assert answer["choices"][0]["message"]["content"] == "anything goes"
