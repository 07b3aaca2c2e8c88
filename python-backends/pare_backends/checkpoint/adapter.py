"""A low-rank adapter beside a checkpoint's weights, in peft's own format.

It lies in a folder of its own: transformers would take an adapter_config.json beside the weights
for a checkpoint that holds an adapter alone, and look for the model that it names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.own_files import own_file
from pare_backends.checkpoint.stored import StoredTensors, file_entries
from pare_backends.failures import CallFailure

FOLDER = "adapter"
WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
PREFIX = "base_model.model."


@dataclass(frozen=True)
class Adapter:
    """The model computes x·(W + s·B·A)ᵀ: W as stored, A (rank, in), B (out, rank) a module."""

    config: Mapping[str, Any]  # adapter_config.json
    tensors: Mapping[str, np.ndarray]  # float16, by peft's names

    @property
    def nbytes(self) -> int:
        """Bytes of its weights as they are stored."""
        return sum(int(values.size) * 2 for values in self.tensors.values())

    def modules(self) -> list[str]:
        """The model's modules that it changes."""
        end = ".lora_A.weight"
        names = (name for name in self.tensors if name.endswith(end))
        return [name.removeprefix(PREFIX).removesuffix(end) for name in names]

    def delta(self, module: str) -> np.ndarray:
        """What it adds to a module's weight: (out, in) float32, however the model holds it."""
        a, b = (
            self.tensors[f"{PREFIX}{module}.lora_{half}.weight"].astype(np.float32) for half in "AB"
        )
        return float(self.config["lora_alpha"]) / int(self.config["r"]) * (b @ a)

    def deltas(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each module with what is added to its weight."""
        for module in self.modules():
            yield module, self.delta(module)


def read_adapter(root: Path) -> Adapter | None:
    """The adapter of a checkpoint directory; None where it has none. Its weights are read when they
    are asked for."""
    folder = root / FOLDER
    if not os.path.lexists(folder / CONFIG):
        return None
    try:
        config = json.loads(own_file(root, folder / CONFIG).read_text())
        known = config["peft_type"] == "LORA" and not config.get("use_dora")
        plain = known and not config.get("use_rslora") and not config.get("rank_pattern")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CallFailure("bad_input", f"Cannot read {folder / CONFIG}: {error!r}") from error
    if not plain:
        raise CallFailure(
            "bad_input", f"Cannot read {folder}: it is no plain LoRA adapter of one rank"
        )
    return Adapter(config, StoredTensors(file_entries(own_file(root, folder / WEIGHTS))))


def write_adapter(adapter: Adapter, root: Path) -> Path:
    """Writes the folder and returns its weight file."""
    from safetensors.numpy import save_file

    folder = root / FOLDER
    folder.mkdir()
    tensors = {
        name: np.ascontiguousarray(adapter.tensors[name].astype(np.float16))
        for name in adapter.tensors
    }
    path = folder / WEIGHTS
    save_file(tensors, str(path), metadata={"format": "pt"})
    with path.open("rb") as file:
        os.fsync(file.fileno())
    text = json.dumps(dict(adapter.config), indent=2, sort_keys=True)
    (folder / CONFIG).write_text(text + "\n")
    return path
