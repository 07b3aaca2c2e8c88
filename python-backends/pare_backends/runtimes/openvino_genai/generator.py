"""The process beside an evaluation that generates in openvino_genai.

A request is JSON: a prompt begins a text, an empty object goes on with it; the answer is a token.
Started by `model.py`, ends when the other end is closed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params
from pare_backends.runtimes.openvino_genai.engine import Engine
from pare_backends.runtimes.openvino_genai.graph_folder import write_folder
from pare_backends.runtimes.openvino_genai.session import STRICT
from pare_backends.runtimes.openvino_genai.setting import Params

FIRST_TOKENS = 4096
"""Room for a prompt and its answer; a longer one has the pipeline opened anew."""


class Generator:
    """One text after the other."""

    def __init__(self, folder: Path, params: Params, activation_group: int, threads: int) -> None:
        self._how = (folder, params, activation_group, threads)
        self._engine = Engine(*self._how, FIRST_TOKENS)

    def answer(self, asked: Mapping[str, Any]) -> int:
        """The next token."""
        if "prompt" not in asked:
            return self._engine.next()
        prompt = np.array(asked["prompt"], np.int64)
        if 2 * len(prompt) > self._engine.most_tokens:  # as many may be generated
            self._engine.close()
            self._engine = Engine(*self._how, 1 << (2 * len(prompt)).bit_length())
        return self._engine.begin(prompt, float(asked["repetition_penalty"]))


def serve(
    connection: Connection, artifact: str, form: str, threads: int, values: dict[str, Any] | None
) -> None:
    """Answers until the other end is closed."""
    try:
        params = STRICT if values is None else build_params(Params, values)
        with TemporaryDirectory(prefix="pare-genai-") as folder:
            group = write_folder(form, artifact, Path(folder)).activation_group
            generator = Generator(Path(folder), params, group, threads)
            while True:
                answer = generator.answer(json.loads(connection.recv_bytes()))
                connection.send_bytes(b"")
                connection.send_bytes(json.dumps(answer).encode())
    except CallFailure as failure:
        connection.send_bytes(json.dumps([failure.kind, failure.message, failure.hint]).encode())
    except (EOFError, ConnectionError):
        return


if __name__ == "__main__":
    artifact_dir, form_dir, thread_count, said, descriptor = sys.argv[1:]
    serve(Connection(int(descriptor)), artifact_dir, form_dir, int(thread_count), json.loads(said))
