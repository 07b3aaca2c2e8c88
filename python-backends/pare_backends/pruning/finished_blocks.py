"""Blocks that are pruned already, in the action's working folder: what a kill does not cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.models.whole_file import put_in_place, save_whole
from pare_backends.pruning.block_pass import Block

DISK_HINT = "Free space, or set PARE_HOME to a larger disk: the pruning goes on behind that block"


@dataclass(frozen=True)
class FinishedBlocks:
    """One file per block, whole or not there. folder: None where nothing is kept."""

    folder: Path | None

    def path(self, block: Block) -> Path | None:
        """Where a block's weights lie, once it is finished."""
        return None if self.folder is None else self.folder / f"{block.module}.safetensors"

    def keep(self, block: Block, weights: dict[str, np.ndarray], figures: dict[str, float]) -> None:
        """Writes a finished block; all or nothing. weights: by layer, as they are stored

        raises: CallFailure "disk_full"
        """
        import torch

        path = self.path(block)
        if path is None:
            return
        whole = {layer: np.ascontiguousarray(values) for layer, values in weights.items()}
        tensors = {layer: torch.from_numpy(values) for layer, values in whole.items()}
        attempt = f"keep the block {block.module} that is pruned"
        save_whole(path, tensors, attempt, DISK_HINT, {"figures": json.dumps(figures)})

    def find(self, block: Block) -> tuple[dict[str, np.ndarray], dict[str, float]] | None:
        """What `keep` wrote; None: nothing."""
        from safetensors import safe_open

        path = self.path(block)
        if path is None or not path.exists():
            return None
        with safe_open(str(path), framework="np") as file:
            weights = {layer: file.get_tensor(layer) for layer in file.keys()}  # noqa: SIM118
            return weights, json.loads(file.metadata()["figures"])

    def keep_spread(self, shares: dict[str, float]) -> None:
        """Writes how zeros are spread, which a block that was changed would tell otherwise."""
        if self.folder is None:
            return
        partial = self.folder / "spread.partial"
        partial.write_text(json.dumps(shares))
        put_in_place(partial, self.folder / "spread.json")

    def find_spread(self) -> dict[str, float] | None:
        """What `keep_spread` wrote; None: nothing."""
        path = None if self.folder is None else self.folder / "spread.json"
        if path is None or not path.exists():
            return None
        found: dict[str, float] = json.loads(path.read_text())
        return found


def as_module_weight(module: Any, stored: np.ndarray) -> Any:
    """A stored weight as the module holds it. stored: (out, in) float16 or float32"""
    import torch

    weight = torch.from_numpy(stored.astype(np.float32))
    return weight.to(device=module.weight.device, dtype=module.weight.dtype)
