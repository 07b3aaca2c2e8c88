"""The guest that runs a benchmark's own test; `candidate(...)` in it is asked of the other guest.

The test is the benchmark's, so it is trusted to judge; it runs in a sandbox all the same, as its
text comes out of a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pare_backends.sandbox.entry import enter
from pare_backends.sandbox.plain import decode, encode
from pare_backends.sandbox.rpc import Channel


class CandidateError(Exception):
    """The program raised where the test called it. The text is the exception's name."""


def shown(raised: Any) -> str:
    """An exception's name as it may be shown: a program or a row of a file chose it."""
    fits = isinstance(raised, str) and raised.isidentifier() and len(raised) <= 40
    return raised if fits else "an exception"


class Boundary:
    """Asks the candidate's guest through the host."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def ask(self, **asked: Any) -> Any:
        """A builtin value, or a proxy of what is none. Raises `CandidateError`."""
        self._channel.send({"ask": asked})
        reply = self._channel.receive()
        if "raised" in reply:
            raise CandidateError(shown(reply["raised"]))
        return decode(reply["given"], lambda number: Proxy(self, number))

    def encoded(self, value: Any) -> Any:
        """A value of the test for the other side, which knows its own objects by number only."""
        return encode(value, _number)


def _number(value: Any) -> int:
    if not isinstance(value, Proxy) or not isinstance(value._target, int):
        raise TypeError(f"Cannot hand a {type(value).__name__} to the program")
    return value._target


class Proxy:
    """An object of the other guest, or a name of its program. It equals nothing but itself, so an
    object that claims to equal everything gains nothing."""

    def __init__(self, boundary: Boundary, target: str | int) -> None:
        object.__setattr__(self, "_boundary", boundary)
        object.__setattr__(self, "_target", target)

    _boundary: Boundary
    _target: str | int

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        encoded = self._boundary.encoded
        return self._boundary.ask(
            do="call", target=self._target, args=encoded(args), kwargs=encoded(kwargs)
        )

    def __getattr__(self, name: str) -> Any:
        return self._boundary.ask(do="get", target=self._target, name=name)

    def __setattr__(self, name: str, value: Any) -> None:
        boundary = self._boundary
        boundary.ask(do="set", target=self._target, name=name, value=boundary.encoded(value))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._boundary.ask(do="items", target=self._target))


def judge(test: dict[str, Any], boundary: Boundary) -> str:
    """`passed`, or the exception's name and text that the test ended by."""
    names: dict[str, Any] = {"__name__": "checker"}
    try:
        exec(compile(test["before"], "<before>", "exec"), names)  # the benchmark's own text
        names.update((name, Proxy(boundary, name)) for name in test["names"])
        exec(compile(test["after"], "<test>", "exec"), names)
    except CandidateError as error:
        return f"the program raised {error}"
    except AssertionError:
        return "an assertion of the test is not met"
    except BaseException as error:
        return f"the test ended by {shown(type(error).__name__)}"
    return "passed"


def main() -> None:
    """Judges one program."""
    channel = enter()
    test = channel.receive()
    verdict = judge(test, Boundary(channel))
    channel.send({"verdict": verdict, "nonce": test["nonce"]})
