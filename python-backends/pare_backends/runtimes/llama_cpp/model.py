"""A GGUF file in llama.cpp in the place of a torch model: its logits come from a process beside.

llama.cpp's environment holds no torch and no lm-eval, and needs none: token ids go to a process of
its interpreter over a socket, logits come back (`scorer.py`). Letters: T tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params
from pare_backends.runtimes.beside import ProcessBeside
from pare_backends.runtimes.llama_cpp.gguf_directory import described_numerics
from pare_backends.runtimes.llama_cpp.setting import Params
from pare_backends.runtimes.llama_cpp.token_prefix import shared_length
from pare_backends.runtimes.runtime_model import Output, RuntimeModel

SCORER = "pare_backends.runtimes.llama_cpp.scorer"


class GgufModel(RuntimeModel):
    """The GGUF file of an artifact, computed one sequence at a time."""

    largest_batch = 1  # each is computed from where it differs from the one before

    def __init__(
        self,
        artifact_dir: str,
        form_dir: str,
        python: str,
        threads: int,
        cache: Mapping[str, Any] | None = None,
    ) -> None:
        params = build_params(Params, cache or {})
        numerics = described_numerics(form_dir, params)
        super().__init__("llama.cpp", artifact_dir, asdict(numerics))
        words = [form_dir, str(threads), json.dumps(dict(cache or {}))]
        self._beside = ProcessBeside("llama.cpp", [python, "-m", SCORER, *words])
        self._vocabulary = int(np.frombuffer(self._beside.receive(), np.int64)[0])
        self._tokens = np.empty(0, np.int64)  # (T,), of the sequence that is generated
        self._read = self._tokens
        self._known = np.empty((0, self._vocabulary), np.float32)
        """Logits of `_read`, the last whole sequence: the next one may begin with the same."""

    def forward(self, input_ids: torch.Tensor) -> Output:
        rows = [self._whole(tokens) for tokens in input_ids.numpy()]
        return Output(torch.from_numpy(np.stack(rows)))

    def _whole(self, tokens: np.ndarray) -> np.ndarray:
        """tokens: (T,) int64; returns: (T, vocabulary) float32"""
        shared = min(shared_length(tokens, self._read), len(tokens) - 1)
        new = self._ask(tokens, len(tokens) - shared)
        self._known = np.concatenate([self._known[:shared], new])
        self._read = tokens.copy()
        return self._known

    def _forget(self) -> None:
        self._tokens = np.empty(0, np.int64)

    def _append(self, tokens: np.ndarray, mask: np.ndarray, places: np.ndarray) -> np.ndarray:
        if len(tokens) != 1:
            raise CallFailure(
                "bad_input",
                f"Cannot generate {len(tokens)} sequences at once in llama.cpp: batch_size must be "
                "1",
            )
        self._tokens = np.concatenate([self._tokens, tokens[0]])
        return self._ask(self._tokens, 1).copy()  # what was received may not be written to

    def _ask(self, tokens: np.ndarray, wanted: int) -> np.ndarray:
        """Logits after each of the last `wanted` tokens. returns: (wanted, vocabulary) float32"""
        asked = np.array([wanted, *tokens], np.int64)
        answer = np.frombuffer(self._beside.ask(asked.tobytes()), np.float32)
        return answer.reshape(wanted, self._vocabulary)

    def close(self) -> None:
        """Ends the process beside; it cannot be used again."""
        self._beside.close()


def open_model(
    artifact_dir: str,
    form_dir: str,
    python: str,
    threads: int,
    precision: str | None = None,
    cache: Mapping[str, Any] | None = None,
) -> GgufModel:
    """`open_model` of runtimes/registry.py; starts a process of `python`. The file has the
    precision.

    cache: values of the knobs that the plugin declares
    """
    return GgufModel(artifact_dir, form_dir, python, threads, cache)
