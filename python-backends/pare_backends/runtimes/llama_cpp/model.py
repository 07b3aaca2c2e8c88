"""A GGUF file in llama.cpp in the place of a torch model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pare_backends.knobs import build_params
from pare_backends.runtimes.llama_cpp.gguf_directory import described_numerics
from pare_backends.runtimes.llama_cpp.setting import Params
from pare_backends.runtimes.sequence_model import SequenceModel

SCORER = "pare_backends.runtimes.llama_cpp.scorer"


class GgufModel(SequenceModel):
    """The GGUF file of an artifact, computed one sequence at a time."""

    def __init__(
        self,
        artifact_dir: str,
        form_dir: str,
        python: str,
        threads: int,
        cache: Mapping[str, Any] | None = None,
    ) -> None:
        numerics = described_numerics(form_dir, build_params(Params, cache or {}))
        words = [form_dir, str(threads), json.dumps(dict(cache or {}))]
        super().__init__("llama.cpp", artifact_dir, numerics, [python, "-m", SCORER, *words])


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
