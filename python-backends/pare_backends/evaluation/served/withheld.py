"""What a server says, without the key that was sent to it: it may say it back."""

from __future__ import annotations

import base64
import functools
import json
import math
from urllib.parse import quote

LEAST_LETTERS = 12
"""Shorter keys are placeholders, such as "EMPTY", or words that an honest answer may hold."""
INSTEAD = "[key]"


@functools.cache
def _forms(key: str) -> tuple[str, ...]:
    """The key as it is, as in JSON and in an address, and within any text in base64."""
    plain = key.encode()
    forms = [key, quote(key, safe=""), quote(key), json.dumps(key)[1:-1], key.replace("/", "\\/")]
    for before in range(3):
        encoded = base64.b64encode(b" " * before + plain).decode()
        # Letters at either end depend on what stands beside the key.
        start, end = math.ceil(before * 8 / 6), (before + len(plain)) * 8 // 6
        forms += [encoded[start:end], encoded[start:end].translate({43: "-", 47: "_"})]
    return tuple(dict.fromkeys(forms))


def text_without(key: str | None, text: str) -> str:
    """The text, each form of the key replaced. Cut it after this, not before: a part of a key is
    not found."""
    if key is None or len(key) < LEAST_LETTERS:
        return text
    for form in _forms(key):
        text = text.replace(form, INSTEAD)
    return text


def bytes_without(key: str | None, content: bytes) -> bytes:
    """The same for the bytes of a reply, JSON or not."""
    if key is None or len(key) < LEAST_LETTERS:
        return content
    for form in _forms(key):
        content = content.replace(form.encode(), INSTEAD.encode())
    return content
