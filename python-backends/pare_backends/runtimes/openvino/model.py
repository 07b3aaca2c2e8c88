"""A compiled OpenVINO graph in the place of a torch model."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import torch

from pare_backends.runtimes.openvino.compiled import (
    compile_graph,
    read_numerics,
    standard_numerics,
    taken_inputs,
)
from pare_backends.runtimes.openvino.graph_weights import build_model
from pare_backends.runtimes.runtime_model import Output, RuntimeModel
from pare_backends.runtimes.session import Numerics


class GraphModel(RuntimeModel):
    """An artifact's graph with the numerics that its speed is measured with, or those given."""

    largest_batch = 4  # the graph gives the logits of every position, 0.2 MB each

    def __init__(
        self,
        artifact_dir: str,
        graph_dir: str,
        threads: int,
        numerics: Numerics | None = None,
        precision: str | None = None,
    ) -> None:
        graph = build_model(graph_dir, artifact_dir)
        wanted = numerics or standard_numerics(graph, precision)
        compiled = compile_graph(graph, wanted, threads)
        super().__init__("openvino", artifact_dir, asdict(read_numerics(compiled)))
        self._request = compiled.create_infer_request()
        self._takes = taken_inputs(compiled)

    def forward(self, input_ids: torch.Tensor) -> Output:
        tokens = input_ids.numpy()  # (B, T)
        places = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
        self._forget()
        return Output(torch.from_numpy(self._infer(tokens, np.ones_like(tokens), places).copy()))

    def _forget(self) -> None:
        self._request.reset_state()

    def _append(self, tokens: np.ndarray, mask: np.ndarray, places: np.ndarray) -> np.ndarray:
        return self._infer(tokens, mask, places)[:, -1]

    def _infer(self, tokens: np.ndarray, mask: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Appends tokens (B, T) to the sequences. mask: (B, all tokens so far); returns logits."""
        given: dict[str, np.ndarray] = {
            "input_ids": np.ascontiguousarray(tokens, np.int64),
            "attention_mask": np.ascontiguousarray(mask, np.int64),
            "position_ids": np.ascontiguousarray(places, np.int64),
            "beam_idx": np.arange(len(tokens), dtype=np.int32),
        }
        self._request.infer(self._takes(given))
        return np.asarray(self._request.get_tensor("logits").data)


def open_model(
    artifact_dir: str, form_dir: str, python: str, threads: int, precision: str | None = None
) -> GraphModel:
    """`open_model` of runtimes/registry.py; openvino runs in this very process."""
    return GraphModel(artifact_dir, form_dir, threads, precision=precision)
