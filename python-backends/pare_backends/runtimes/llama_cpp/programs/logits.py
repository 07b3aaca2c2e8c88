"""llama.cpp's logits of a GGUF file as a program: tokens in, an .npy file out.

Runs in llama.cpp's environment, started by whoever wrote the file in another: what to do is a JSON
file (`Job`), what failed is said in a line of standard error.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pare_backends.failures import CallFailure
from pare_backends.runtimes.llama_cpp.decoder import STRICT, LlamaCppDecoder


@dataclass(frozen=True)
class Job:
    """What to compute."""

    directory: str  # holds model.gguf
    tokens: list[int]
    threads: int
    output: str  # (tokens, vocabulary) float32


def compute(job: Job) -> None:
    with closing(LlamaCppDecoder(job.directory, job.threads, params=STRICT)) as decoder:
        np.save(job.output, decoder.append(np.array(job.tokens, np.int64), len(job.tokens)))


if __name__ == "__main__":
    try:
        compute(Job(**json.loads(Path(sys.argv[1]).read_text())))
    except CallFailure as failure:
        sys.exit(failure.message)
