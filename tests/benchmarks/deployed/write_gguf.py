"""GGUF files of artifacts, and held-out windows as token ids, for `time_gguf.py`.

Reads a request as JSON from standard input: {"models": {name: directory}, "original": directory,
"folder": where they are written, "text": .jsonl file of {"text"}, "windows": n, "tokens": T}; writes
a folder a name, and "reference" with the original's weights in float32. Writes {"windows": ids,
"notes": {name: notes}} to standard output.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from heldout_kl import windows_of

from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.make import write_gguf


def main() -> None:
    asked = json.load(sys.stdin)
    folder, original = Path(asked["folder"]), Path(asked["original"])
    shutil.rmtree(folder, ignore_errors=True)
    notes: dict[str, list[str]] = {}
    for name, directory in {**asked["models"], "reference": str(original)}.items():
        place = folder / name
        place.mkdir(parents=True)
        exact = name == "reference"
        notes[name] = write_gguf(Path(directory), place, exact, silent_report()).notes
    windows = windows_of(
        load_tokenizer(original), asked["text"], asked["windows"], asked["tokens"]
    )
    json.dump({"windows": windows.tolist(), "notes": notes}, sys.stdout)


if __name__ == "__main__":
    main()
