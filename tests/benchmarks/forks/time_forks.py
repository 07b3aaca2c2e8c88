"""The same GGUF files in llama.cpp and in ik_llama.cpp, in turn: time of a token, KL, bytes.

Reads a request as JSON from standard input: {"folder": of `write_files.py`, "own": types that
llama.cpp is to round the original to, by name, "ik": the interpreter of the other library, "windows",
"repeats", "prompt_tokens", "new_tokens", "threads"}. KL is from "reference" in llama.cpp, nats a
token, window by window. Writes {"bandwidth", "load", "files": {name: {"bytes", "llama.cpp": {"ms",
"kl"}, "ik_llama.cpp": {"ms", "kl"}}}}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from time_gguf import round_by_llama_cpp

from pare_backends.measuring.bandwidth import bandwidth_meter
from pare_backends.measuring.quiet import timing_lock, wait_until_quiet
from pare_backends.progress import silent_report

IN_LIBRARY = Path(__file__).with_name("in_library.py")
CALM_SECONDS = 0.5
"""llama.cpp's threads look for work some tenths of a second after a token: they would take the other
library's cores."""


class Library:
    """A process that holds the files in one library."""

    def __init__(self, python: str, runtime: str, threads: int, folder: Path, names: list[str]):
        words = [python, str(IN_LIBRARY), runtime, str(threads), str(folder), *names]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("Cannot time: a library ended")
        return line

    def ask(self, **asked: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._read())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    asked = json.load(sys.stdin)
    report = silent_report(asked["threads"])
    folder = Path(asked["folder"])
    for name, kind in asked["own"].items():
        round_by_llama_cpp(folder / "original" / "model.gguf", folder / name, kind)
    names = ["original", *asked["own"]]
    files: dict[str, Any] = {
        name: {"bytes": (folder / name / "model.gguf").stat().st_size} for name in names
    }
    interpreters = {"llama.cpp": sys.executable, "ik_llama.cpp": asked["ik"]}
    with timing_lock(report):
        libraries = {
            one: Library(python, one, asked["threads"], folder, [*names, "reference"])
            for one, python in interpreters.items()
        }
        prompt = asked["windows"][0][: asked["prompt_tokens"]]
        wait_until_quiet(report)
        load, bandwidth = os.getloadavg()[0], bandwidth_meter(report.threads)()
        for repeat in range(asked["repeats"] + 1):
            for name in names:
                for one, library in libraries.items():
                    count = asked["new_tokens"]
                    seconds = library.ask(time=name, prompt=prompt, new_tokens=count)
                    time.sleep(CALM_SECONDS)
                    row = files[name].setdefault(one, {"ms": [], "kl": []})
                    if repeat > 0:  # the first pass warms up
                        row["ms"].append(1000 * seconds / count)
    for window in asked["windows"]:
        add_divergences(folder, names, libraries, files, window)
    for library in libraries.values():
        library.close()
    print(json.dumps({"bandwidth": bandwidth, "load": load, "files": files}))


def add_divergences(
    folder: Path,
    names: list[str],
    libraries: dict[str, Library],
    files: dict[str, Any],
    window: list[int],
) -> None:
    """KL of every file in every library from the reference, on a window."""
    path = folder / "window.npy"

    def computed(library: Library, name: str) -> np.ndarray:
        library.ask(logits=name, window=window, path=str(path))
        return np.load(path, allow_pickle=False)

    expected = computed(libraries["llama.cpp"], "reference")
    share = np.exp(expected)
    for name in names:
        for one, library in libraries.items():
            kl = (share * (expected - computed(library, name))).sum(-1).mean()
            files[name][one]["kl"].append(float(kl))


if __name__ == "__main__":
    main()
