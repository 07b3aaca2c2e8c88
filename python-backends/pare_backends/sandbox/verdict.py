"""One program, one test, one verdict."""

from __future__ import annotations

import functools
import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any

from pare_backends.failures import CallFailure
from pare_backends.sandbox.bubblewrap import PACKAGE, missing
from pare_backends.sandbox.guest import Guest, GuestFailure, NoGuest
from pare_backends.sandbox.guest_limits import Limits
from pare_backends.sandbox.room import ROOM

PASSED = "passed"
LONGEST_VERDICT = 100


@dataclass(frozen=True)
class CodeTest:
    """A benchmark's own test. `before` runs without the program; `names` are then the program's,
    called across the boundary; `after` holds the asserts."""

    before: str
    names: tuple[str, ...]
    after: str


@dataclass(frozen=True)
class Verdict:
    """`how`: `passed`, or why not, in a few words."""

    passed: bool
    how: str


def judge(
    program: str, test: CodeTest, limits: Limits | None = None, sandboxed: bool = True
) -> Verdict:
    """Whether the program meets the test. Threads may call it; each call has guests of its own, and
    waits until there is memory for them.

    Raises `CallFailure` where a guest does not start: no program is wrong by that."""
    limits = limits or Limits()
    try:
        with (
            ROOM.taken(limits),
            Guest("candidate", limits, sandboxed) as candidate,
            Guest("checker", limits, sandboxed) as checker,
        ):
            checker.begin()
            candidate.begin()
            return _judge(program, test, candidate, checker)
    except GuestFailure as failure:
        return Verdict(False, str(failure))
    except NoGuest as failure:
        raise cannot_judge(str(failure)) from failure


def _judge(program: str, test: CodeTest, candidate: Guest, checker: Guest) -> Verdict:
    loaded = _asked(candidate, {"program": program})
    if not loaded.endswith(b'"given": null}'):
        return Verdict(False, "the program cannot be loaded")
    nonce = secrets.token_hex(16)
    checker.send({"nonce": nonce, "before": test.before, "names": test.names, "after": test.after})
    while True:
        said = _said(checker)
        if "ask" in said:
            checker.send_line(_asked(candidate, said["ask"]))
            continue
        if said.get("nonce") != nonce:
            return Verdict(False, "the verdict has no right nonce")
        how = said.get("verdict")
        if not isinstance(how, str) or len(how) > LONGEST_VERDICT or not how.isprintable():
            return Verdict(False, "the test gives no verdict")
        return Verdict(how == PASSED, how)


def _said(checker: Guest) -> dict[str, Any]:
    """The checker's message: a test comes out of a stranger's file, so it may be none."""
    try:
        said = json.loads(checker.receive_line())
    except (ValueError, RecursionError) as error:
        raise GuestFailure("the checker says what is no message") from error
    if not isinstance(said, dict):
        raise GuestFailure("the checker says what is no message")
    return said


def _asked(candidate: Guest, asked: Any) -> bytes:
    """The candidate's reply, as the bytes that it is: the host reads only that it begins with the
    token of this very request, so that no reply can be written in advance."""
    token = secrets.token_hex(16)
    candidate.send({"token": token, "asked": asked})
    line = candidate.receive_line()
    if not line.startswith(f'{{"token": "{token}", '.encode()):
        raise GuestFailure("the candidate's reply has no right token")
    return line


@functools.cache
def source_hash() -> str:
    """Of the sandbox's own source, limits included: verdicts are kept under it."""
    files = sorted(PACKAGE.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


@functools.cache
def sandbox_problem() -> str | None:
    """Why no sandbox can be had on this machine, with what to do; None: one was tried and works."""
    problem = missing()
    if problem is not None:
        return problem
    try:
        with Guest("candidate", Limits(), True) as guest:
            guest.begin()
    except NoGuest as failure:
        return str(failure)
    right = CodeTest("", ("double",), "assert double(2) == 4")
    program = "import socket\ndef double(n):\n    {}\n    return 2 * n"
    works = judge(program.format("pass"), right).passed
    if not works or judge(program.format("socket.socket()"), right).passed:
        return "bubblewrap starts here and does not shut its guest in: a probe of it failed"
    return None


def require_sandbox() -> None:
    """Raises `CallFailure` where there is none."""
    problem = sandbox_problem()
    if problem is not None:
        raise cannot_judge(problem)


def cannot_judge(problem: str) -> CallFailure:
    """The failure of a task whose programs cannot be run, for this reason."""
    return CallFailure(
        "missing_environment",
        f"Cannot run the code that a model writes, as {problem}",
        hint="Or accept the risk with --unsafe-code, which is recorded",
    )
