"""How a guest begins: the first thing that either of them does."""

from __future__ import annotations

import json
import os
import sys

from pare_backends.sandbox.guest_limits import Limits, restrict
from pare_backends.sandbox.rpc import READY, Channel


def enter() -> Channel:
    """Takes the channel, shuts this process in and says that it is ready. Its words are the limits
    as JSON and, in a sandbox, the filter of system calls in hexadecimal."""
    channel = Channel()
    limits = Limits(**json.loads(sys.argv[1]))
    try:
        if len(sys.argv) > 2:
            from pare_backends.sandbox.seal import seal  # ctypes, which a bare guest can do without

            seal(limits, bytes.fromhex(sys.argv[2]))
        restrict(limits)
    except OSError as error:
        channel.send({"problem": error.strerror or str(error)})
        os._exit(1)
    channel.send(READY)
    return channel
