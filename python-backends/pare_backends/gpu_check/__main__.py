"""`python -m pare_backends.gpu_check [--model DIR --text FILE] [--keep DIR]`: prints a table of
what passed on the GPU, beside the same on the CPU, and ends with 1 where something did not."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pare_backends.gpu_check.steps import Tried, as_row, steps_on, take
from pare_backends.gpu_check.table import table_of
from pare_backends.gpu_check.world import TINY_TOKENS, TOKENS, World, make_model

ROWS = "rows.jsonl"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pare_backends.gpu_check", description=__doc__)
    parser.add_argument("--model", type=Path, help="a checkpoint; default: a tiny one, made here")
    parser.add_argument("--text", type=Path, help="JSON lines with a field text, for --model")
    parser.add_argument("--keep", type=Path, help="a folder for artifacts and figures")
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of a window, for --model")
    parser.add_argument("--on", choices=("cpu", "cuda"), help=argparse.SUPPRESS)
    parser.add_argument("--only", help="methods whose names match this pattern")
    given = parser.parse_args(arguments)
    if (given.model is None) != (given.text is None):
        parser.error("--model and --text belong together")
    return given


def on_one_device(given: argparse.Namespace, keep: Path, on: str) -> None:
    """Takes every step and writes a row after each: one that ends the process loses none."""
    world = World(given.model, given.text, keep / on, given.tokens)
    world.folder.mkdir(parents=True, exist_ok=True)
    for step in steps_on(world):
        if given.only is not None and "/" in step[0] and not re.search(given.only, step[0]):
            continue
        tried = take(step)
        with (world.folder / ROWS).open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(as_row(tried)) + "\n")
        print(f"{on}: {step[0]}: {tried.status} {tried.reason[:200]}", file=sys.stderr, flush=True)


def read_rows(path: Path) -> list[Tried]:
    if not path.exists():
        return []
    return [Tried(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def both(given: argparse.Namespace, keep: Path) -> int:
    """Each device in a process of its own, one after the other, then the table."""
    if given.model is None:
        given.model, given.text = make_model(keep)
        given.tokens = TINY_TOKENS
    name = ["--model", str(given.model), "--text", str(given.text), "--keep", str(keep)]
    name += ["--tokens", str(given.tokens)]
    only = [] if given.only is None else ["--only", given.only]
    command = [sys.executable, "-m", "pare_backends.gpu_check", *name, *only, "--on"]
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    # One after the other: seconds of either are its own.
    ended = [
        subprocess.run([*command, on], env=own, check=False).returncode
        for on, own in (("cuda", None), ("cpu", hidden))
    ]
    rows = {on: read_rows(keep / on / ROWS) for on in ("cuda", "cpu")}
    text, failed = table_of(rows["cuda"], rows["cpu"])
    print(text)
    for on, code in zip(("cuda", "cpu"), ended, strict=True):
        if code != 0:
            print(f"The process on {on} ended with {code}")
    return 1 if failed or any(ended) else 0


def main(arguments: list[str]) -> int:
    import torch

    given = parse(arguments)
    if given.on is not None:
        on_one_device(given, given.keep, given.on)
        return 0
    if not torch.cuda.is_available():
        print("Cannot check a GPU: torch sees none. Look at nvidia-smi, CUDA_VISIBLE_DEVICES and")
        print(f"whether torch {torch.__version__} is built for CUDA")
        return 2
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
        return both(given, given.keep)
    with tempfile.TemporaryDirectory(prefix="pare-gpu-") as made:
        return both(given, Path(made))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
