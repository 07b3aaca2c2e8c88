"""Why no GGUF file of a model is written, though llama.cpp knows its architecture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pare_backends.checkpoint.own_code import runs_code
from pare_backends.failures import CallFailure
from pare_backends.runtimes.registry import writer_of


def why_no_gguf(config: Mapping[str, Any]) -> str | None:
    """In words; None: nothing of its config.json is against it, or its architecture has none."""
    layout = writer_of("gguf", "gguf_layout")
    named = config.get("architectures")
    if runs_code(config):
        return None
    if not isinstance(named, list) or named[:1] == []:
        return None
    if named[0] not in layout.ARCHITECTURES and named[0] not in layout.UNLIKE:
        return None
    try:
        layout.GgufLayout(config)
    except CallFailure as failure:
        return f"no GGUF file of it is written: {failure.message.partition(': ')[2]}"
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # a config so odd is told of where its file would be written
    return None
