"""Answers that a model gave before, so that nothing is computed twice: a full evaluation takes the
proxy's, and an evaluation that was killed goes on where it stopped.

One file an artifact and evaluator's source, a line of JSON an answer, written as it is found. The
key is the whole content of one forward pass (its tokens and how they share the row), not of one
sample: what shares a row changes the last bits of a sum, so an answer is reused only where the very
same computation would be made again, and a reused score is the same to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class Answers:
    """Answers by the hash of what was asked; kept in memory alone where no file is given. Several
    threads may ask: those that wait for a server do.

    `machine`: what else the bits depend on, such as device and threads.
    """

    def __init__(self, path: Path | None = None, machine: str = "") -> None:
        self._path, self._machine = path, machine
        self._writing = threading.Lock()
        self._known: dict[str, tuple[Any, float]] = {}
        self.reused = 0
        """Answers taken from an earlier evaluation so far: requests, windows or generations."""
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        data = path.read_bytes()
        for line in data.splitlines():
            try:
                key, answer, seconds = json.loads(line)
            except ValueError:
                continue  # half a line: the process was killed while it wrote
            self._known[str(key)] = (answer, float(seconds))
        if data and not data.endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b"\n")

    def once(self, asked: Any, count: int, compute: Callable[[], T]) -> tuple[T, float]:
        """The answer to `asked` and the seconds that it took when it was computed, now or earlier.

        Both are kept as JSON, so a tuple comes back as a list. It answers `count` requests.
        """
        found = self.known(asked, count)
        if found is not None:
            return found
        started = time.perf_counter()
        answer = compute()
        seconds = time.perf_counter() - started
        self.keep(asked, answer, seconds)
        return answer, seconds

    def known(self, asked: Any, count: int = 0) -> tuple[Any, float] | None:
        """The answer that an earlier evaluation gave and its seconds; None: there is none."""
        found = self._known.get(self._key(asked))
        self.reused += count if found is not None else 0
        return found

    def keep(self, asked: Any, answer: Any, seconds: float) -> None:
        """Writes an answer, where there is a file."""
        if self._path is None:
            return
        line = json.dumps([self._key(asked), answer, seconds], allow_nan=False) + "\n"
        # In one write: two evaluations may add to a file, and neither cuts the other's line.
        with self._writing, self._path.open("ab", buffering=0) as file:
            file.write(line.encode())

    def _key(self, asked: Any) -> str:
        text = json.dumps([self._machine, asked], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def split_apart(rows: Sequence[int], apart: Sequence[Container[int]] = ()) -> list[list[int]]:
    """The rows in their order: a part for each of `apart`, of what no earlier one holds, then the
    rest. No part is empty."""
    parts: list[list[int]] = [[] for _ in range(len(apart) + 1)]
    for row in rows:
        parts[next((i for i, one in enumerate(apart) if row in one), -1)].append(row)
    return [part for part in parts if part]
