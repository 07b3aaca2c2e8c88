"""The guests' end of the boundary: lines of JSON on descriptors that the program is not given."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

READY = {"ready": True}
"""A guest's first message, before it meets any code: one that never says it did not start."""


class Channel:
    """Lines to and from the host. Takes standard input and output for itself, first thing: what
    the guest prints goes nowhere."""

    def __init__(self) -> None:
        self._requests = os.fdopen(os.dup(0), "r", encoding="ascii", newline="\n")
        self._replies = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        # A program's own handlers and buffers must not see the boundary's.
        sys.stdin = os.fdopen(0, "r", closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)

    def receive(self) -> Any:
        """The next message; ends the guest where the host has gone."""
        line = self._requests.readline()
        if not line:
            os._exit(0)
        return json.loads(line)

    def send(self, message: Any) -> None:
        """Writes one message as one line."""
        rest = memoryview((json.dumps(message) + "\n").encode("ascii"))
        while rest:
            rest = rest[os.write(self._replies, rest) :]
