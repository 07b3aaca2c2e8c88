"""The guest that holds a generated program: loads it, then does what it is asked, call by call.

Nothing in this process is trusted once the program has run: it may have changed every line below.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from pare_backends.sandbox.entry import enter
from pare_backends.sandbox.plain import decode, encode

MOST_ITEMS = 100_000
"""Of an iterator: an endless one is cut, and the answer fails by its length."""


class Objects:
    """What the program made that is no plain data, by number."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def number(self, value: Any) -> int:
        """Keeps the value; the same one has the same number."""
        for number, kept in enumerate(self._kept):
            if kept is value:
                return number
        self._kept.append(value)
        return len(self._kept) - 1

    def get(self, number: int) -> Any:
        return self._kept[number]


def answer(asked: dict[str, Any], names: dict[str, Any], objects: Objects) -> Any:
    """What the program gives to one request of the checker (`checker.Proxy`)."""
    target = asked["target"]
    subject = names[target] if isinstance(target, str) else objects.get(target)
    if asked["do"] == "call":
        values = decode(asked["args"], objects.get)
        return subject(*values, **decode(asked["kwargs"], objects.get))
    if asked["do"] == "items":
        return list(itertools.islice(subject, MOST_ITEMS))
    if asked["do"] == "get":
        return getattr(subject, asked["name"])
    return setattr(subject, asked["name"], decode(asked["value"], objects.get))


def main() -> None:
    """Serves until the host closes the channel. Each reply carries its request's token."""
    channel = enter()
    names: dict[str, Any] = {"__name__": "candidate"}
    objects = Objects()
    while True:
        message = channel.receive()
        token, asked = message["token"], message["asked"]
        try:
            if "program" in asked:
                sys.argv = ["candidate"]
                exec(compile(asked["program"], "<program>", "exec"), names)  # the point of it all
                given = None
            else:
                given = answer(asked, names, objects)
            reply = {"token": token, "given": encode(given, objects.number)}
        except BaseException as error:
            reply = {"token": token, "raised": type(error).__name__}
        channel.send(reply)
