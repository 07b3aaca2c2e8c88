"""openvino_genai in the place of a torch model: it generates in a process of its environment.

The library gives tokens and no logits. Those of whole texts come from the very graph that it loads,
which `logits.py` proves to be the library's: a text that is given is read with nothing let go of.
A setting of the cache can therefore be scored by what it generates alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from pare_backends.failures import CallFailure
from pare_backends.runtimes.beside import ProcessBeside
from pare_backends.runtimes.openvino.model import GraphModel
from pare_backends.runtimes.runtime_model import Output

GENERATOR = "pare_backends.runtimes.openvino_genai.generator"


class GenaiModel(GraphModel):
    """An artifact under one setting of the cache; None: the full cache in float32."""

    largest_batch = 1

    def __init__(
        self,
        artifact_dir: str,
        form_dir: str,
        python: str,
        threads: int,
        cache: Mapping[str, Any] | None,
    ) -> None:
        super().__init__(artifact_dir, form_dir, threads)
        self.name = "openvino_genai"
        self._cache = cache
        if cache is not None:
            self.numerics = {**self.numerics, "kv_precision": cache["kv_precision"]}
        said = json.dumps(None if cache is None else dict(cache))
        words = [artifact_dir, form_dir, str(threads), said]
        self._beside = ProcessBeside("openvino_genai", [python, "-m", GENERATOR, *words])
        self._last: int | None = None

    def forward(self, input_ids: torch.Tensor) -> Output:
        if self._cache is not None:
            raise CallFailure(
                "bad_input",
                "Cannot score given texts under a setting of openvino_genai's cache: nothing is let"
                " go of while a text is read",
                hint="Name a benchmark whose answers are generated",
            )
        return super().forward(input_ids)

    def begin(self, tokens: np.ndarray) -> np.ndarray:
        raise CallFailure(
            "bad_input",
            "Cannot give probabilities of the next token in openvino_genai: it gives tokens alone",
            hint="Take the runtime openvino, which computes the same graph",
        )

    def _forget(self) -> None:
        super()._forget()
        self._last = None

    def _append(self, tokens: np.ndarray, mask: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Logits that the library's own choice alone has: it goes on with that, whoever asks."""
        if len(tokens) != 1:
            raise CallFailure(
                "bad_input",
                f"Cannot generate {len(tokens)} sequences at once in openvino_genai: batch_size"
                " must be 1",
            )
        if self._last is None:
            penalty = self.generation_config.repetition_penalty
            asked: dict[str, Any] = {
                "prompt": tokens[0][mask[0] == 1].tolist(),
                "repetition_penalty": 1.0 if penalty is None else penalty,
            }
        elif int(tokens[0, -1]) == self._last:
            asked = {}
        else:
            raise CallFailure(
                "bad_input",
                "Cannot generate in openvino_genai: the task forbids some tokens, which the library"
                " is not told of",
            )
        self._last = int(json.loads(self._beside.ask(json.dumps(asked).encode())))
        row = np.zeros((1, int(self.config.get_text_config().vocab_size)), np.float32)
        row[0, self._last] = 1.0
        return row

    def close(self) -> None:
        """Ends the process beside; it cannot be used again."""
        self._beside.close()


def open_model(
    artifact_dir: str,
    form_dir: str,
    python: str,
    threads: int,
    cache: Mapping[str, Any] | None = None,
) -> GenaiModel:
    """`open_model` of runtimes/registry.py; starts a process of `python`.

    cache: values of the knobs that the plugin declares
    """
    return GenaiModel(artifact_dir, form_dir, python, threads, cache)
