"""An artifact opened by openvino_genai under one setting of its cache after the other."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from pare_backends.knobs import build_params
from pare_backends.runtimes.openvino_genai.engine import VERSION, Engine
from pare_backends.runtimes.openvino_genai.graph_folder import write_folder
from pare_backends.runtimes.openvino_genai.probe import obstacle
from pare_backends.runtimes.openvino_genai.setting import Params


class GenaiCaches:
    """`Caches` of runtimes/cache_session.py."""

    version = VERSION
    bytes_method = (
        "the library's own metric: the share of its pool's blocks that the sequence holds, times"
        " the pool's bytes"
    )

    def __init__(self, artifact_dir: str, form_dir: str, threads: int) -> None:
        self._room = TemporaryDirectory(prefix="pare-genai-")
        self._folder = Path(self._room.name)
        self._group = write_folder(form_dir, artifact_dir, self._folder).activation_group
        self._threads = threads

    def obstacle(self, values: Mapping[str, Any]) -> str | None:
        if not build_params(Params, values).is_unsafe():
            return None
        return obstacle(self._folder, values, self._group, self._threads)

    def open(self, values: Mapping[str, Any], tokens: int) -> Engine:
        params = build_params(Params, values)
        return Engine(self._folder, params, self._group, self._threads, tokens)

    def __enter__(self) -> GenaiCaches:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        gc.collect()
        self._room.cleanup()


def open_caches(artifact_dir: str, form_dir: str, threads: int) -> GenaiCaches:
    """Writes the graph with the artifact's weights; a second for 135 M parameters."""
    return GenaiCaches(artifact_dir, form_dir, threads)
