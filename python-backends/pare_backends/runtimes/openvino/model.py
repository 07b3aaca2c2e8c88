"""A compiled OpenVINO graph in the place of a torch model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from pare_backends.knobs import build_params
from pare_backends.runtimes.openvino.compiled import (
    compile_graph,
    numerics_of,
    read_numerics,
    standard_numerics,
    taken_inputs,
)
from pare_backends.runtimes.openvino.graph_weights import build_model
from pare_backends.runtimes.openvino.setting import Params
from pare_backends.runtimes.runtime_model import Output, RuntimeModel
from pare_backends.runtimes.session import Numerics

PART_TOKENS = 16
"""Of a text that is given, where the cache rounds: what is read at once sees its own keys and
values as they are, and those of what was read before as they are stored."""


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
        params: Params | None = None,
    ) -> None:
        """numerics: None: those that its speed is measured with, or what a setting asks for"""
        graph = build_model(graph_dir, artifact_dir)
        if params is None:
            wanted = numerics or standard_numerics(graph, precision)
            compiled = compile_graph(graph, wanted, threads)
        else:
            wanted = numerics_of(graph, params)
            compiled = compile_graph(graph, wanted, params.threads or threads, params.pinning)
        super().__init__("openvino", artifact_dir, asdict(read_numerics(compiled)))
        self._parts = params is not None and params.kv_precision != "f32"
        self._request = compiled.create_infer_request()
        self._takes = taken_inputs(compiled)

    def forward(self, input_ids: torch.Tensor) -> Output:
        tokens = input_ids.numpy()  # (B, T)
        places = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
        self._forget()
        length = tokens.shape[1]
        step = PART_TOKENS if self._parts else length
        found = [
            self._infer(
                tokens[:, at : at + step],
                np.ones((len(tokens), min(at + step, length)), np.int64),
                places[:, at : at + step],
            ).copy()
            for at in range(0, length, step)
        ]
        return Output(torch.from_numpy(np.concatenate(found, axis=1)))

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
    artifact_dir: str,
    form_dir: str,
    python: str,
    threads: int,
    precision: str | None = None,
    cache: Mapping[str, Any] | None = None,
) -> GraphModel:
    """`open_model` of runtimes/registry.py; openvino runs in this very process.

    cache: values of the knobs that the plugin declares
    """
    params = None if cache is None else build_params(Params, cache)
    return GraphModel(artifact_dir, form_dir, threads, precision=precision, params=params)
