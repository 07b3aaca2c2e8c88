"""Runtime `transformers`: the dequantized model in torch, where no better runtime fits.

Packed weights are multiplied out to float32 first, so a packed artifact's speed here is that of
the uncompressed model: `emulated`, never ranked against `measured`. So is the speed of a cache
that is cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.cache.policy import chooses_by_content
from pare_backends.checkpoint import read
from pare_backends.checkpoint.load import load_model
from pare_backends.checkpoint.reading_on import read_on, reads_one_by_one
from pare_backends.checkpoint.setting import Setting, attach
from pare_backends.device import placed, run_device
from pare_backends.runtimes.session import Numerics
from pare_backends.runtimes.stored_weights import StoredWeights

if TYPE_CHECKING:
    from pare_backends.cache.kept import KeptTokens


class TransformersSession:
    """`Session` of runtimes/session.py."""

    numerics = Numerics("f32", "f32", 0)
    imports_torch = True

    def __init__(self, artifact_dir: str) -> None:
        import torch

        self._torch = torch
        self.weights_dir = artifact_dir
        self.device = run_device().partition(":")[0]
        weights = StoredWeights(artifact_dir)
        packed = "quantization_config" in weights.config
        self.held = self.provenance = "emulated" if packed else "measured"
        self.notes: tuple[str, ...] = ("packed weights run as float32",) if packed else ()
        model = load_model(read(artifact_dir), artifact_dir)
        self._model = placed(model)
        embedding = self._model.get_input_embeddings().weight
        tied = self._model.get_output_embeddings().weight is embedding
        values = sum(p.numel() for p in self._model.parameters())
        row = int(embedding.shape[1])
        self.bytes_read_per_token = 4 * (values + row if tied else values - embedding.numel() + row)
        self._cache: Any = None

    def _step(self, tokens: np.ndarray, cache: Any) -> int:
        torch = self._torch
        with torch.inference_mode():
            ids = torch.from_numpy(tokens)[None].to(self._model.device)
            logits, self._cache = read_on(self._model, ids, cache)
            return int(logits[0].argmax())

    def prefill(self, tokens: np.ndarray) -> int:
        return self._step(tokens, None)

    def decode(self, token: int) -> int:
        return self._step(np.array([token], np.int64), self._cache)

    def take_setting(self, setting: Setting) -> None:
        """Runs as the setting says from now on: torch has no kernel for a cache that is cut."""
        attach(self._model, setting)
        self.provenance = "emulated"
        self.notes = (*self.notes, setting.label())

    def append(self, tokens: np.ndarray) -> int:
        """Reads more of the sequence and returns the next token. tokens: (n,) int64"""
        return self._step(tokens, self._cache)

    @property
    def reads_in_parts(self) -> bool:
        """Whether a prompt may be read in several passes: what was read decides at the end of the
        first one what is kept, where that decides; some take a token at a time after it."""
        return not chooses_by_content(self._model) and not reads_one_by_one(self._model)

    def cache_bytes(self) -> int:
        """Bytes of the memory behind the keys and values of the sequence so far."""
        from pare_backends.cache.kept import kept_bytes

        return kept_bytes(self._cache)

    def kept_tokens(self) -> KeptTokens:
        """Tokens of the sequence so far that are kept, by layer."""
        from pare_backends.cache.kept import kept_tokens

        return kept_tokens(self._cache)

    def gpu_peak_bytes(self) -> int | None:
        return self._torch.cuda.max_memory_allocated() if self.device == "cuda" else None


def open_session(
    artifact_dir: str, form_dir: None, threads: int, precision: str | None = None
) -> TransformersSession:
    """Loads an artifact; its weights in float32, the one precision, must fit the memory."""
    return TransformersSession(artifact_dir)
