"""Whether a checkpoint needs the Python code that it names (auto_map).

Many models on the hub keep the code of the days before transformers had a class for them (Phi-3,
DeepSeek V2, Falcon). transformers takes its own class of the same name unless it is told to trust
that code, and nothing of it runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.empty_model import trusts_remote_code
from pare_backends.checkpoint.own_files import own_file


def has_own_class(config: Mapping[str, Any]) -> bool:
    """Whether transformers itself has the very class that a configuration names."""
    try:
        from transformers.models.auto import modeling_auto
    except ImportError:  # of an environment that only runs files
        return False
    classes = (
        modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    )
    kind, said = str(config.get("model_type")), config.get("architectures")
    return isinstance(said, list) and any(said[:1] == [one.get(kind)] for one in classes)


def needs_code(config: Mapping[str, Any]) -> bool:
    """Whether no class of transformers' is the model's. config: of config.json"""
    return bool(config.get("auto_map")) and not has_own_class(config)


def runs_code(config: Mapping[str, Any]) -> bool:
    """Whether the model is made by Python files beside it."""
    return bool(config.get("auto_map")) and (trusts_remote_code() or needs_code(config))


def tokenizer_names_code(root: Path) -> bool:
    """Whether a checkpoint's tokenizer may be made by Python files beside it."""
    path = root / "tokenizer_config.json"
    try:
        told = json.loads(own_file(root, path).read_text()) if os.path.lexists(path) else {}
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and bool(told.get("auto_map"))


def code_notes(config: Mapping[str, Any]) -> list[str]:
    """That code which it brings is left alone; in words."""
    if not config.get("auto_map") or runs_code(config):
        return []
    return [
        "The Python code that it brings (auto_map in config.json) is not run:"
        f" transformers has {config['architectures'][0]} itself"
    ]
