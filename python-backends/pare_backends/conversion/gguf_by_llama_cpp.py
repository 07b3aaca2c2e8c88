"""A GGUF file that was written, as llama.cpp itself computes it: a process of its environment."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pare_backends.checkpoint.load import load_model, load_tokenizer
from pare_backends.checkpoint.soundness import NOT_FINITE, logits_of, prompt_ids
from pare_backends.conversion.check import finite_cosine, rounded_facts
from pare_backends.conversion.files_format import Source
from pare_backends.failures import CallFailure
from pare_backends.progress import Report
from pare_backends.runtimes.registry import writer_of

MOST_SECONDS = 600
"""A few tokens of the largest model that memory holds, loading included."""
MOST_TOKENS = 256
"""The least context that llama.cpp makes: a text that fills it is longer than many windows, and is
rotated as the context is where that depends on its length."""
OF_BLOCKS = ("general.file_type", "GGUF.kv_count")
"""Keys that say in which blocks a file is."""


def llama_cpp_facts(python: str, directory: Path, source: Source, report: Report) -> dict[str, Any]:
    """How far its logits are from the source's: of the same weights as float32, with inputs as they
    are, and of the file, whose products of packed weights round inputs to 8 bits. That would hide a
    setting that is a little wrong, so both must say the same of the model.

    python: the interpreter of llama.cpp's environment; directory: holds model.gguf
    """
    ids = long_prompt_ids(source)
    make = writer_of("gguf", "make")
    with TemporaryDirectory(dir=directory) as folder:
        make.write_gguf(source.directory, Path(folder), True, report)
        other = other_key(directory / make.MODEL_FILE, Path(folder) / make.MODEL_FILE)
        if other is not None:
            return {"not_opened": f"its key {other} is not what the model's file says"}
        try:
            exact, rounded = (
                logits_by(python, one, Path(folder), ids[0].tolist(), report.threads)
                for one in (Path(folder), directory)
            )
        except CallFailure as failure:
            return {"not_opened": failure.message[:500]}
    wanted = logits_of(load_model(source.checkpoint, source.directory), ids)
    alike = finite_cosine(exact, wanted)
    facts = {"logits_cosine": alike, "not_opened": NOT_FINITE if alike is None else None}
    return {"opened_by": "llama.cpp", **facts, **rounded_facts(rounded, wanted)}


def long_prompt_ids(source: Source) -> Any:
    """The prompt over and over, as far as the model reads.

    returns: (1, n) int64
    """
    ids = prompt_ids(load_tokenizer(source.directory))
    wanted = min(MOST_TOKENS, writer_of("gguf", "gguf_layout").GgufLayout(source.config).reads)
    return ids.repeat(1, -(-wanted // ids.shape[-1]))[:, :wanted]


def other_key(path: Path, exact: Path) -> str | None:
    """A key of which two files of one model say different things; None: there is none."""
    from gguf import GGUFReader

    own, wanted = (
        {
            name: [part.tobytes() for part in field.parts]
            for name, field in GGUFReader(one).fields.items()
            if name not in OF_BLOCKS
        }
        for one in (path, exact)
    )
    return next((name for name in {**wanted, **own} if own.get(name) != wanted.get(name)), None)


def logits_by(python: str, model: Path, folder: Path, tokens: list[int], threads: int) -> Any:
    """(tokens, vocabulary) float32. model: holds model.gguf; folder: for what is handed over

    raises: CallFailure where llama.cpp does not compute it
    """
    job, output = folder / "job.json", folder / "logits.npy"
    asked = {"directory": str(model), "tokens": tokens, "threads": threads, "output": str(output)}
    job.write_text(json.dumps(asked))
    try:
        ended = subprocess.run(
            [python, "-m", writer_of("gguf", "make").LOGITS, str(job)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        why = f"llama.cpp did not answer within {MOST_SECONDS} s"
        raise CallFailure("invalid", why) from error
    if ended.returncode != 0:
        said = ended.stderr.strip().splitlines()[-1:] or [f"it ended by {ended.returncode}"]
        raise CallFailure("invalid", f"llama.cpp: {said[0]}")
    return np.load(output, allow_pickle=False)
