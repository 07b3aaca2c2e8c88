"""A runtime of one sequence at a time in the place of a torch model: its logits come from a process
beside.

The runtime's environment holds no torch and no lm-eval, and needs none: token ids go to a process
of its interpreter over a socket, logits come back (`sequence_scorer.py`). Letters: T tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import torch

from pare_backends.failures import CallFailure
from pare_backends.runtimes.beside import ProcessBeside
from pare_backends.runtimes.runtime_model import Output, RuntimeModel
from pare_backends.runtimes.session import Numerics
from pare_backends.runtimes.token_prefix import shared_length


class SequenceModel(RuntimeModel):
    """An artifact's form, computed one sequence at a time."""

    largest_batch = 1  # each is computed from where it differs from the one before

    def __init__(
        self, name: str, artifact_dir: str, numerics: Numerics, command: Sequence[str]
    ) -> None:
        """name: the runtime's; command: of its scorer, which is given its end of a socket"""
        super().__init__(name, artifact_dir, asdict(numerics))
        self._beside = ProcessBeside(name, command)
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
                f"Cannot generate {len(tokens)} sequences at once in {self.name}: batch_size must"
                " be 1",
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
