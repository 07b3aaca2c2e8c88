"""A compiled OpenVINO graph in the place of a torch model, for lm-eval and the perplexity loop.

So a benchmark is scored by the very computation that is timed. Letters: B sequences, T tokens.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig

from pare_backends.checkpoint.load import trusts_remote_code
from pare_backends.failures import StageFailure
from pare_backends.runtimes.exchange import build_model
from pare_backends.runtimes.openvino import compile_graph, read_numerics, standard_numerics
from pare_backends.runtimes.session import Numerics


@dataclass(frozen=True)
class Output:
    """What a model's call gives back."""

    logits: torch.Tensor  # (B, T, vocabulary) float32


class GraphModel:
    """An artifact's graph with the numerics that its speed is measured with, or those given."""

    device = torch.device("cpu")
    dtype = torch.float32

    def __init__(
        self, artifact_dir: str, graph_dir: str, threads: int, numerics: Numerics | None = None
    ) -> None:
        graph = build_model(graph_dir, artifact_dir)
        compiled = compile_graph(graph, numerics or standard_numerics(graph), threads)
        self.numerics = asdict(read_numerics(compiled))
        self.config = AutoConfig.from_pretrained(
            artifact_dir, trust_remote_code=trusts_remote_code(), local_files_only=True
        )
        self._request = compiled.create_infer_request()

    def __call__(self, input_ids: torch.Tensor) -> Output:
        return self.forward(input_ids)

    def forward(self, input_ids: torch.Tensor) -> Output:
        """Logits of sequences that may be padded on the right: no token looks ahead."""
        tokens = input_ids.numpy()  # (B, T)
        places = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
        self._request.reset_state()
        return Output(torch.from_numpy(self._infer(tokens, np.ones_like(tokens), places).copy()))

    def _infer(self, tokens: np.ndarray, mask: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Appends tokens (B, T) to the sequences. mask: (B, all tokens so far); returns logits."""
        self._request.infer(
            {
                "input_ids": np.ascontiguousarray(tokens, np.int64),
                "attention_mask": np.ascontiguousarray(mask, np.int64),
                "position_ids": np.ascontiguousarray(places, np.int64),
                "beam_idx": np.arange(len(tokens), dtype=np.int32),
            }
        )
        return np.asarray(self._request.get_tensor("logits").data)

    def generate(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        max_length: int,
        stopping_criteria: Any,
        pad_token_id: int,
        logits_processor: Any,
        do_sample: bool = False,
        **_: Any,
    ) -> torch.Tensor:
        """Greedy continuations of prompts padded on the left, until all have ended, as
        transformers' own `generate` gives them. returns: (B, tokens) int64"""
        if do_sample:
            raise StageFailure("bad_input", "Cannot sample in openvino: only greedy search is made")
        ids, mask = input_ids.numpy(), attention_mask.numpy()
        places = np.maximum(mask.cumsum(axis=1) - 1, 0)
        ends = self.config.eos_token_id
        ended = np.zeros(len(ids), bool)
        tokens = ids
        self._request.reset_state()
        while ids.shape[1] < max_length:
            scores = torch.from_numpy(self._infer(tokens, mask, places)[:, -1])
            best = logits_processor(torch.from_numpy(ids), scores).argmax(dim=-1).numpy()
            best = np.where(ended, pad_token_id, best)
            ids = np.concatenate([ids, best[:, None]], axis=1)
            mask = np.concatenate([mask, np.ones_like(mask[:, :1])], axis=1)
            tokens, places = best[:, None], places[:, -1:] + 1
            ended |= np.isin(best, ends)
            if ended.all() or bool(
                torch.as_tensor(stopping_criteria(torch.from_numpy(ids), None)).all()
            ):
                break
        return torch.from_numpy(ids)
