"""Whether this process may fetch anything, and the guard that sees to it that it does not."""

from __future__ import annotations

import os
import sys
from typing import Any

VARIABLE = "PARE_OFFLINE"
TRUE = {"1", "TRUE", "YES", "ON"}
LOCAL = ("127.", "::1", "localhost", "0.0.0.0")
CONNECTING = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname")


class KeptOffline(OSError):
    """What a library gets that tries to reach another machine."""


def offline() -> bool:
    """Whether the user keeps this process from the hub."""
    return kept_out_by() is not None


def kept_out_by() -> str | None:
    """By what the user does: the option, or a variable of the environment; None: not at all."""
    told = {VARIABLE: "--offline", "HF_HUB_OFFLINE": "HF_HUB_OFFLINE"}
    told["HF_DATASETS_OFFLINE"] = "HF_DATASETS_OFFLINE"
    set_to = (name for name in told if os.environ.get(name, "").upper() in TRUE)
    return next((told[name] for name in set_to), None)


def guard() -> None:
    """With `--offline` this process reaches no other machine, whatever a library tries; what runs
    on this one, such as a served model, can be reached."""
    if os.environ.get(VARIABLE, "").upper() not in TRUE:
        return

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in CONNECTING:
            return
        address = arguments[1] if event == "socket.connect" else arguments[0]
        host = address[0] if isinstance(address, tuple) else address
        local = host is None or isinstance(host, bytes) or str(host).startswith((*LOCAL, "/"))
        if not local:
            raise KeptOffline(f"nothing may be fetched with --offline: {host} was asked for")

    sys.addaudithook(refuse)
