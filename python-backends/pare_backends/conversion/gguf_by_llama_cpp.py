"""A GGUF file that was written, as llama.cpp itself computes it: a process of its environment."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pare_backends.checkpoint.load import load_model, load_tokenizer
from pare_backends.checkpoint.soundness import logits_of, prompt_ids
from pare_backends.conversion.check import rounded_facts
from pare_backends.conversion.files_format import Source
from pare_backends.runtimes.registry import writer_of

MOST_SECONDS = 600
"""A few tokens of the largest model that memory holds, loading included."""


def llama_cpp_facts(python: str, directory: Path, source: Source, threads: int) -> dict[str, Any]:
    """How far its logits are from the source's: it rounds inputs of packed weights to 8 bits.

    python: the interpreter of llama.cpp's environment; directory: holds model.gguf
    """
    ids = prompt_ids(load_tokenizer(source.directory))
    with TemporaryDirectory() as folder:
        output = Path(folder) / "logits.npy"
        asked = {"directory": str(directory), "tokens": ids[0].tolist(), "threads": threads}
        job = Path(folder) / "job.json"
        job.write_text(json.dumps({**asked, "output": str(output)}))
        try:
            ended = subprocess.run(
                [python, "-m", writer_of("gguf", "make").LOGITS, str(job)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=MOST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"not_opened": f"llama.cpp did not answer within {MOST_SECONDS} s"}
        if ended.returncode != 0:
            said = ended.stderr.strip().splitlines()[-1:] or [f"it ended by {ended.returncode}"]
            return {"not_opened": f"llama.cpp: {said[0]}"[:500]}
        own = np.load(output, allow_pickle=False)
    wanted = logits_of(load_model(source.checkpoint, source.directory), ids)
    return {"opened_by": "llama.cpp", **rounded_facts(own, wanted)}
