"""Layers that are encoded already, in the action's working folder: what a kill does not cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pare_backends.models.whole_file import save_whole


@dataclass(frozen=True)
class FinishedLayers:
    """One file a layer, whole or not there. folder: None where nothing is kept."""

    folder: Path | None

    def path(self, layer: str) -> Path | None:
        """Where a layer's code lies, once it is finished."""
        return None if self.folder is None else self.folder / f"{layer}.safetensors"

    def keep(self, layer: str, parts: dict[str, np.ndarray], figures: dict[str, float]) -> None:
        """Writes a finished layer; all or nothing."""
        import torch

        path = self.path(layer)
        if path is None:
            return
        save_whole(
            path,
            {name: torch.from_numpy(values) for name, values in parts.items()},
            f"keep the code of {layer}",
            "Free some space: the action goes on after the last layer that was kept",
            {"figures": json.dumps(figures)},
        )

    def find(self, layer: str) -> tuple[dict[str, np.ndarray], dict[str, float]] | None:
        """What `keep` wrote; None: nothing."""
        from safetensors import safe_open

        path = self.path(layer)
        if path is None or not path.exists():
            return None
        with safe_open(str(path), framework="np") as file:
            parts = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return parts, json.loads(file.metadata()["figures"])

    def keep_part(
        self, layer: str, part: int, parts: dict[str, np.ndarray], figures: dict[str, float]
    ) -> None:
        """The same of one part of a layer that takes long. part: from 0"""
        self.keep(part_of(layer, part), parts, figures)

    def find_part(
        self, layer: str, part: int
    ) -> tuple[dict[str, np.ndarray], dict[str, float]] | None:
        """What `keep_part` wrote; None: nothing."""
        return self.find(part_of(layer, part))

    def drop_parts(self, layer: str) -> None:
        """Removes the parts of a layer that is kept whole."""
        part = 0
        while (path := self.path(part_of(layer, part))) is not None and path.exists():
            path.unlink()
            part += 1


def part_of(layer: str, part: int) -> str:
    """A part's own name, which no layer has."""
    return f"{layer}.part-{part}"
