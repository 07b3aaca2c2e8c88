"""The host's end of a guest: its process, lines to and from it, and nothing else of it.

A guest is never trusted: it may not read, not write, write without end, or be gone.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from types import TracebackType
from typing import Any

from pare_backends.sandbox.bubblewrap import (
    GUEST_ENVIRONMENT,
    bare_command,
    guest_command,
    missing,
    refusal,
)
from pare_backends.sandbox.guest_limits import Limits
from pare_backends.sandbox.rpc import READY

CHUNK = 1 << 16
START_SECONDS = 60.0
"""For a guest's start, which takes 0.1 s: a machine that is busy for a minute fails no program."""
ENDINGS: dict[int, str] = {
    signal.SIGSYS: "was killed: it asked for what a sandbox does not give",
    signal.SIGXCPU: "was killed at the limit of computing time",
    signal.SIGKILL: "was killed at a limit",
    signal.SIGSEGV: "crashed",
}


class GuestFailure(Exception):
    """Why a guest gave no answer, in words for the verdict."""


class NoGuest(Exception):
    """Why a guest did not start, in words with what to do: nobody's answer is wrong by that."""


class Guest:
    """One guest process, killed at the end of a `with`. `sandboxed` False runs it bare. Raises
    `NoGuest`, as `begin` does."""

    def __init__(self, role: str, limits: Limits, sandboxed: bool) -> None:
        self._role, self._limits, self._sandboxed = role, limits, sandboxed
        self._deadline = time.monotonic() + START_SECONDS
        self._buffer = bytearray()
        self._read = 0
        try:
            self._process = self._start(role, sandboxed)
        except OSError as error:
            raise NoGuest(self._why(str(error))) from error
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)

    def _start(self, role: str, sandboxed: bool) -> subprocess.Popen[bytes]:
        command = guest_command if sandboxed else bare_command
        return subprocess.Popen(
            command(role, self._limits),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(GUEST_ENVIRONMENT),
            cwd="/",
            bufsize=0,
        )

    def begin(self) -> None:
        """Waits until the guest has started, which is before it meets any code; from then on it
        has the time of its limits."""
        try:
            said = json.loads(self.receive_line())
        except GuestFailure as failure:
            raise NoGuest(self._why(self._said() or str(failure))) from failure
        except ValueError:
            said = None
        if said != READY:
            problem = said.get("problem") if isinstance(said, dict) else None
            raise NoGuest(self._why(problem or "its first line is another than a guest's"))
        self._deadline = time.monotonic() + self._limits.wall_seconds

    def _why(self, said: str) -> str:
        if not self._sandboxed:
            return f"a Python without a sandbox does not start ({said})"
        return missing() or refusal(said)

    def __enter__(self) -> Guest:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kills the guest, whatever it does, and waits for its end."""
        # The outer process of bubblewrap: with it dies the sandbox's first, and so all of it.
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def send(self, message: Any) -> None:
        """Writes a line. Raises `GuestFailure` where the guest does not take it in time."""
        self.send_line(json.dumps(message).encode("ascii"))

    def send_line(self, line: bytes) -> None:
        """Writes a line as it is, which holds no line end."""
        pipe = self._process.stdin
        assert pipe is not None
        rest = memoryview(line + b"\n")
        while rest:
            self._wait(pipe.fileno(), select.POLLOUT)
            try:
                rest = rest[os.write(pipe.fileno(), rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise GuestFailure(self._ending()) from error

    def receive_line(self) -> bytes:
        """The next line without its end. Raises `GuestFailure` at the time limit, at the limit of
        output, and where the guest has ended."""
        pipe = self._process.stdout
        assert pipe is not None
        while (end := self._buffer.find(b"\n")) < 0:
            self._wait(pipe.fileno(), select.POLLIN)
            try:
                chunk = os.read(pipe.fileno(), CHUNK)
            except BlockingIOError:
                continue
            if not chunk:
                raise GuestFailure(self._ending())
            self._read += len(chunk)
            if self._read > self._limits.output_bytes:
                raise GuestFailure(f"the {self._role} wrote too much")
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _ending(self) -> str:
        """How a guest that has closed its channel ended, as far as it can be told."""
        try:
            status = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return f"the {self._role} closed its channel"
        # bubblewrap tells a signal as 128 and its number; a guest may exit so, to no use.
        told = status - 128 if status > 128 else -status
        return f"the {self._role} " + ENDINGS.get(told, "ended early")

    def _said(self) -> str:
        """What bubblewrap itself said of a guest that did not start: the guest's own words go to
        /dev/null from its start on."""
        pipe = self._process.stderr
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
        try:
            return os.read(pipe.fileno(), CHUNK).decode("utf-8", "replace")
        except BlockingIOError:
            return ""

    def _wait(self, descriptor: int, event: int) -> None:
        left = self._deadline - time.monotonic()
        ready = select.poll()
        ready.register(descriptor, event)
        if left <= 0 or not ready.poll(left * 1000):
            raise GuestFailure("the time limit was reached")
