"""An artifact's graph compiled by OpenVINO under one setting after the other."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

import numpy as np
import openvino

from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params
from pare_backends.runtimes.cache_session import DecodedCache, OpenedCaches, why_no_threads
from pare_backends.runtimes.openvino.compiled import (
    Decoder,
    compile_graph,
    numerics_of,
    read_numerics,
)
from pare_backends.runtimes.openvino.graph_weights import build_model
from pare_backends.runtimes.openvino.input_rounding import rounds_inputs
from pare_backends.runtimes.openvino.setting import Params
from pare_backends.runtimes.session import Numerics


class OpenvinoCache(DecodedCache):
    """`CacheSession` of runtimes/cache_session.py."""

    def __init__(self, artifact_dir: str, form_dir: str, params: Params, threads: int) -> None:
        graph = build_model(form_dir, artifact_dir, last_only=True)
        compiled = compile_graph(
            graph, numerics_of(graph, params), params.threads or threads, params.pinning
        )
        self.numerics = read_numerics(compiled)
        _check(params, self.numerics, graph.packed)
        self._decoder = Decoder(compiled)
        del graph
        gc.collect()  # the graph's nodes refer to each other

    def _reset(self) -> None:
        self._decoder.reset()

    def _last_logits(self, tokens: np.ndarray) -> np.ndarray:
        return self._decoder.step(tokens)[-1]

    def cache_bytes(self) -> int:
        return self._decoder.state_bytes(self.numerics.kv_precision)

    def close(self) -> None:
        del self._decoder
        gc.collect()


class OpenvinoCaches(OpenedCaches):
    """`Caches` of runtimes/cache_session.py."""

    version = f"openvino {openvino.__version__.split('-')[0]}"
    bytes_method = (
        "numbers in the graph's states, each of so many bits as its precision has: u8 without its"
        " scales"
    )

    def __init__(self, artifact_dir: str, form_dir: str, threads: int) -> None:
        self._artifact_dir, self._form_dir, self._threads = artifact_dir, form_dir, threads

    def obstacle(self, values: Mapping[str, Any]) -> str | None:
        params = build_params(Params, values)
        if params.input_group > 0 and not rounds_inputs():
            return "OpenVINO rounds no inputs on this processor"
        return why_no_threads(params.threads, self._threads)

    def open(self, values: Mapping[str, Any], tokens: int) -> OpenvinoCache:
        """The graph's states grow as they are read: there is nothing to make room for."""
        params = build_params(Params, values)
        return OpenvinoCache(self._artifact_dir, self._form_dir, params, self._threads)


def _check(params: Params, found: Numerics, packed: bool) -> None:
    """Refuses what would be measured under the name of a setting that is not in force."""
    for knob in ("inference_precision", "kv_precision"):
        asked, own = getattr(params, knob), getattr(found, knob)
        if asked != own:
            raise CallFailure(
                "bad_input", f"{knob} is {asked}, and OpenVINO computes in {own} here"
            )
    if params.input_group > 0 and not packed:
        raise CallFailure("bad_input", "no weights are packed, so no inputs are rounded")


def open_caches(artifact_dir: str, form_dir: str, threads: int) -> OpenvinoCaches:
    """The graph is compiled anew for each setting: a second for 135 M parameters."""
    return OpenvinoCaches(artifact_dir, form_dir, threads)
