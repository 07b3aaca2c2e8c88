"""A process of another environment that answers this one over a socket.

Each answer is two messages: what failed as JSON, empty where nothing did, and bytes. The process
is given its end of the socket as the last of its words, and ends when the other end is closed.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from multiprocessing import Pipe

from pare_backends.failures import CallFailure

END_SECONDS = 5.0


class ProcessBeside:
    """The end that asks."""

    def __init__(self, runtime: str, command: Sequence[str]) -> None:
        """runtime: whose it is, for sentences"""
        self._runtime = runtime
        self._connection, other = Pipe()
        # In this process's group: what ends this one ends that one.
        self._process = subprocess.Popen(
            [*command, str(other.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=2,
            pass_fds=[other.fileno()],
        )
        other.close()

    def ask(self, asked: bytes) -> bytes:
        """What the process answers. Raises what failed there, or that it has ended."""
        try:
            self._connection.send_bytes(asked)
        except ConnectionError as error:
            raise self._ended() from error
        return self.receive()

    def receive(self) -> bytes:
        """Its next answer, unasked."""
        try:
            failure = self._connection.recv_bytes()
            if not failure:
                return self._connection.recv_bytes()
        except (EOFError, ConnectionError) as error:
            raise self._ended() from error
        kind, message, hint = json.loads(failure)
        raise CallFailure(kind, message, hint)

    def _ended(self) -> CallFailure:
        status = self._process.wait(END_SECONDS)
        return CallFailure(
            "crash", f"Cannot score in {self._runtime}: its process ended with status {status}"
        )

    def close(self) -> None:
        """Ends the process; it cannot be used again."""
        self._connection.close()
        self._process.wait(END_SECONDS)
