"""The demo's original as GGUF files of floats, and windows of held-out text as token ids.

Reads {"model", "folder", "text", "windows", "tokens"} as JSON from standard input; writes the folders
"original" (float16) and "reference" (float32) with a model.gguf each, and {"windows": ids} to
standard output.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from heldout_kl import windows_of

from pare_backends.calls import import_model
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.make import write_gguf


def main() -> None:
    asked = json.load(sys.stdin)
    folder = Path(asked["folder"])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    report = silent_report()
    request = import_model.ImportModelRequest(asked["model"], str(folder / "model"), False)
    source = Path(import_model.run(request, report)["path"])
    for name in ("original", "reference"):
        (folder / name).mkdir()
        write_gguf(source, folder / name, name == "reference", report)
    windows = windows_of(load_tokenizer(source), asked["text"], asked["windows"], asked["tokens"])
    print(json.dumps({"windows": windows.tolist()}))


if __name__ == "__main__":
    main()
