"""The directory that `make.py` fills: its files, and what they say of the numerics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pare_backends.runtimes.llama_cpp.setting import Params
from pare_backends.runtimes.session import Numerics

MODEL_FILE = "model.gguf"
DESCRIPTION_FILE = "gguf.json"


def read_description(directory: str) -> dict[str, Any]:
    """gguf.json: what a token reads, with which numerics, and notes."""
    return dict(json.loads((Path(directory) / DESCRIPTION_FILE).read_text()))


def described_numerics(directory: str, params: Params) -> Numerics:
    """What llama.cpp computes with, by the formats in the file and the setting."""
    described = read_description(directory)
    return Numerics(
        described["inference_precision"], params.kv_precision, described["activation_group"]
    )
