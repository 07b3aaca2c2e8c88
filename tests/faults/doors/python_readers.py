"""Reads damaged files with the readers of Python, one a line of standard input: {door, path}.

A sentence is a `CallFailure`: anything else is a crash to the user.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pare_backends.calls import import_model
from pare_backends.calls.find_tasks import AskedTask, FindTasksRequest
from pare_backends.calls.find_tasks import run as find_tasks
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.elsewhere.folder import open_folder
from pare_backends.elsewhere.gguf_file import open_gguf_file
from pare_backends.evaluation.calibration import read_texts
from pare_backends.evaluation.chat_template import use_chat_template
from pare_backends.evaluation.published.parquet_rows import parquet_rows
from pare_backends.evaluation.tasks.records import read_records
from pare_backends.failures import CallFailure
from pare_backends.models.checks import check_tokenizer
from pare_backends.progress import silent_report
from pare_backends.quantization.mixing.others import Known, read_scores

ORIGINAL = Path(sys.argv[2])
"""The model of which GGUF files are read as trials."""
KNOWN = Known({"l.0": (64, 64), "l.1": (64, 64)}, {"l.0": "linear", "l.1": "linear"}, {})


class Templated:
    """Takes the template's words in place of a model."""

    templated = False
    prompting = ""


def model(path: Path) -> None:
    """The whole import of a model, as a study begins with it."""
    out = Path(tempfile.mkdtemp(prefix="pare-door-"))
    try:
        request = import_model.ImportModelRequest(str(path), str(out), False)
        import_model.run(request, silent_report())
    finally:
        shutil.rmtree(out, ignore_errors=True)


def template(path: Path) -> None:
    stand_in: Any = Templated()
    use_chat_template(stand_in, check_tokenizer(path))


def gguf(path: Path) -> None:
    """A file of a model that is at hand."""
    for held in open_gguf_file(path, ORIGINAL, "float32").tensors.values():
        held.read()


def tasks(path: Path) -> None:
    asked = AskedTask(str(path), "file", str(path))
    find_tasks(FindTasksRequest([asked], False), silent_report())


READERS: dict[str, Callable[[Path], object]] = {
    "config": model,
    "safetensors": model,
    "tokenizer": model,
    "tokenizer_config": model,
    "chat_template": template,
    "given": open_folder,
    "gguf": model,
    "gguf_given": gguf,
    "parquet": parquet_rows,
    "task": tasks,
    "rows": read_records,
    "rows_gz": read_records,
    "rows_list": read_records,
    "texts": read_texts,
    "scores": lambda path: read_scores(path, KNOWN),
}


def ended(door: str, path: str) -> dict[str, str]:
    try:
        READERS[door](Path(path))
    except CallFailure as failure:
        return {"ended": "sentence", "said": failure.message}
    except BaseException as error:
        return {
            "ended": "fault",
            "said": "".join(traceback.format_exception(error))[-3_000:],
        }
    return {"ended": "result", "said": ""}


def main() -> None:
    warnings.filterwarnings("ignore")
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)  # what libraries warn of thousands of files
    # What is imported at the first use counts for no input.
    warm = Path(sys.argv[1])
    model(warm)
    load_tokenizer(warm)
    model(ORIGINAL.parent / "made" / "model.gguf")
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        answers.write(json.dumps(ended(asked["door"], asked["path"])) + "\n")
        answers.flush()


main()
