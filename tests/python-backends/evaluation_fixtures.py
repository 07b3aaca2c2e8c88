"""What the evaluation tests share: a small random model, the real task definitions, data files."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pare_backends.evaluation.tasks.wire_task import WireScorer, WireTask
from pare_backends.models.tiny import tiny_config, write_tokenizer
from pare_backends.models.tiny_text import sentences
from pare_backends.progress import Report
from pare_backends.protocol import build

HERE = Path(__file__).parent


@functools.cache
def wire_tasks() -> dict[str, WireTask]:
    """The tasks of plugins/evaluation by name, read from their TypeScript files."""
    deno = [shutil.which("deno")] if shutil.which("deno") else ["npx", "-y", "deno"]
    command = [*deno, "run", "--quiet", "--allow-read", "--allow-env", str(HERE / "print_tasks.ts")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE)
    return {task["task"]: build(WireTask, task) for task in json.loads(done.stdout)}


def wire_task(name: str, path: Path | None = None, **changes: Any) -> WireTask:
    """A real task over a local file, with fields changed."""
    data_path = None if path is None else str(path)
    return dataclasses.replace(wire_tasks()[name], data_path=data_path, **changes)


def wire_scorer(name: str, **changes: Any) -> WireScorer:
    """A real scorer as the first task that names it has it, with fields changed."""
    scorers = [one for task in wire_tasks().values() for one in task.scorers]
    return dataclasses.replace(next(one for one in scorers if one.scorer == name), **changes)


def write_rows(path: Path, rows: Sequence[Any]) -> Path:
    """A .jsonl file with these rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def random_checkpoint(directory: Path) -> Path:
    """The tiny model's architecture and tokenizer with random weights of some size."""
    import torch
    from transformers import LlamaForCausalLM

    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = write_tokenizer(directory)
    torch.manual_seed(0)
    model = LlamaForCausalLM(tiny_config(len(tokenizer)))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 0.25)
    model.save_pretrained(directory)
    return directory


def words(count: int, seed: int = 1) -> str:
    """That many words of the tiny language."""
    return " ".join(" ".join(sentences(count, seed)).split()[:count])


class Events:
    """A report whose events are kept."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []
        self.report = Report(self.all.append)

    def named(self, event: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [one for one in self.all if one["event"] == event]


def benchmark_file(name: str) -> Path:
    """A file of the benchmark data; skips where they are not at hand."""
    roots = [os.environ.get("PARE_TEST_DATA"), str(HERE.parents[1].parent / "shared" / "data")]
    for root in roots:
        if root and (Path(root) / name).exists():
            return Path(root) / name
    pytest.skip("benchmark files are not here: PARE_TEST_DATA names the folder that holds them")
