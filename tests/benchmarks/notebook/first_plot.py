"""Seconds from a kernel's start to a picture, and to the answer of an empty question.

    python first_plot.py CODE.ts

Prints {"plot": seconds, "empty": seconds}. The kernel named deno is found through JUPYTER_PATH.
"""

import json
import sys
import time
from pathlib import Path

from jupyter_client.manager import start_new_kernel


def until(code: str, kind: str | None) -> float:
    """Seconds from before the kernel is started to a display of a kind, or to the reply."""
    started = time.monotonic()
    manager, client = start_new_kernel(startup_timeout=120, kernel_name="deno")
    seconds: list[float] = []

    def take(message: dict) -> None:
        content = message["content"]
        if message["msg_type"] == "error":
            raise RuntimeError(content["evalue"])
        if kind is not None and kind in content.get("data", {}):
            seconds.append(time.monotonic() - started)

    try:
        client.execute_interactive(code, timeout=120, allow_stdin=False, output_hook=take)
        return seconds[0] if kind is not None else time.monotonic() - started
    finally:
        manager.shutdown_kernel(now=True)


code = Path(sys.argv[1]).read_text(encoding="utf-8")
print(json.dumps({"plot": until(code, "image/svg+xml"), "empty": until("1 + 1", None)}))
