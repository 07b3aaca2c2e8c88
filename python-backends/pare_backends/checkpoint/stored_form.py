"""What artifacts of equal speed share: how their weights are stored, not what they are."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.files import weight_files
from pare_backends.checkpoint.setting import Setting
from pare_backends.checkpoint.stored import file_entries

NAMES = ("_name_or_path", "transformers_version")
"""Of config.json: where a model came from and who wrote it last."""


def stored_form(directory: str | Path, setting: Setting | None = None) -> str:
    """Hash over architecture, formats layer by layer, and the names, types and shapes of tensors.

    Equal for two artifacts that differ in their numbers alone. Of a GGUF file its size stands for
    its tensors. A setting is part of the form: what is kept decides what a token costs.
    returns: 16 hex digits
    """
    root = Path(directory)
    config: dict[str, Any] = json.loads((root / "config.json").read_text())
    for group in ((config.get("quantization_config") or {}).get("config_groups") or {}).values():
        group["targets"] = sorted(group.get("targets", ()))
    tensors = [
        (name, entry.dtype, list(entry.shape))
        for path in (*weight_files(root), *root.glob("adapter/*.safetensors"))
        for name, entry in file_entries(path).items()
    ]
    others = [(path.suffix, path.stat().st_size) for path in root.glob("*.gguf")]
    kept = {name: value for name, value in config.items() if name not in NAMES}
    parts: list[Any] = [kept, sorted(tensors), sorted(others)]
    if setting is not None:
        parts.append([setting.kind, setting.policy, dict(setting.values)])
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
