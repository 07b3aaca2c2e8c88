"""Tries a setting in a process of its own: some end it, and say nothing to who waits for an answer.

Reads a request as JSON from stdin; status 0: it generated past an eviction.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.failures import CallFailure, one_line
from pare_backends.runtimes.openvino_genai.setting import BLOCK_TOKENS, Params

MODULE = "pare_backends.runtimes.openvino_genai.probe"
SECONDS = 600
BLOCKS_PAST = 3
"""Blocks that are generated after a prompt longer than what is kept: each lets go of another."""
MOST_CHARACTERS = 300


def obstacle(
    folder: Path, values: Mapping[str, Any], activation_group: int, threads: int
) -> str | None:
    """What was seen where the setting ends its process or fails there; None: it runs.

    folder: of the very graph that is to be run, since some graphs bear what others do not
    """
    asked = {
        "folder": str(folder),
        "values": dict(values),
        "activation_group": activation_group,
        "threads": threads,
    }
    command = [sys.executable, "-m", MODULE]
    try:
        # In this process's group: what ends this one ends that one.
        tried = subprocess.run(
            command, input=json.dumps(asked), capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"a process that tried it had not ended after {SECONDS} s"
    if tried.returncode == 0:
        return None
    if tried.returncode < 0:
        return f"a process that tried it was ended by {signal.Signals(-tried.returncode).name}"
    lines = [line for line in (tried.stdout or tried.stderr).splitlines() if line.strip()]
    said = " ".join(lines[-1].split())[:MOST_CHARACTERS] if lines else "it said nothing"
    return f"a process that tried it ended with status {tried.returncode}: {said}"


def main() -> None:
    """Generates past several evictions; raises what the library raises."""
    from pare_backends.runtimes.openvino_genai.engine import Engine

    asked = json.load(sys.stdin)
    params = Params(**asked["values"])
    past = BLOCKS_PAST * BLOCK_TOKENS
    prompt = np.arange(params.max_cache_size + past, dtype=np.int64) % 256
    engine = Engine(
        Path(asked["folder"]), params, asked["activation_group"], asked["threads"],
        len(prompt) + past + 1,
    )  # fmt: skip
    try:
        engine.begin(prompt)
        for _ in range(past):
            engine.next()
    except CallFailure as failure:
        print(one_line(failure), flush=True)
        os._exit(1)  # before the library says what else it did not put away
    engine.close()


if __name__ == "__main__":
    main()
